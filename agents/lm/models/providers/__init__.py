"""Models accessed through a provider's SDK.

`openai` and `anthropic` talk to the providers, and share `remote_model` (requests), `connection` (what is sent and
received), `retries` (the tries of one call), `answers` (responses) and `faults` (what can go wrong).
"""
