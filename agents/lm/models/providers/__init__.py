"""Models asked through the clients of the providers' SDKs, one file an SDK.

`remote_model` has what they share: the tries of a question, limits and prices; `faults` what can go wrong.
"""
