"""A local server with OpenAI's and Anthropic's interfaces: ``python -m agents.lm.stub``.

`server` is the server and its faults, `wire` the providers' JSON, `replies` its answers.
"""

from agents.lm.stub.server import FAULTS, Stub, StubRequest, StubServer

__all__ = ["FAULTS", "Stub", "StubRequest", "StubServer"]
