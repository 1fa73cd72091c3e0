"""Pages and figures of results, and transcripts of language models."""
