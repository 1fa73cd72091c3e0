"""Language models: remote ones through a provider's SDK, scripted ones, and cached replies.

`shared_models` makes them by name. `protocol` is the interface of every model. `remote` has the tries of a question,
`openai` and `anthropic` what is sent and read, `faults` what can go wrong, `limits` how calls wait and stop; `budget`
and `prices` are about money; `cache` stores replies on disk, and `scripted` has models that need no server.
"""
