"""Models behind a provider's SDK.

`openai` and `anthropic` talk to the providers, and share `remote` (requests), `connection` (what is sent and received),
`retries` (the tries of one call), `answers` (responses), `faults` (what can go wrong) and `parameters` (what not every
server accepts).
"""
