"""The language-model player: `policy` is the policy, `settings` its options, `programs` the same for `modal_env`.

`ledger` counts and records its calls.
"""
