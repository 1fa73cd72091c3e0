"""A local server with OpenAI's and Anthropic's interfaces: ``python -m agents.lm.stub``.

`server` is the server, `replies` its answers.
"""

from agents.lm.stub.server import StubRequest, StubServer

__all__ = ["StubRequest", "StubServer"]
