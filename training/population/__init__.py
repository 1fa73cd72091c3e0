"""Populations in which each policy is a best response to a mix of the earlier ones (`training.PopulationConfig`)."""
