"""Costs of memory and of prompt additions for language models, and the bias of constrained decoding."""
