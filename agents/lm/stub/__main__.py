"""``python -m agents.lm.stub``: answers like OpenAI's and Anthropic's servers, until interrupted."""

from __future__ import annotations

import argparse
from contextlib import suppress
from threading import Event

from agents.lm.errors import ConfigError
from agents.lm.stub.server import StubServer

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m agents.lm.stub", description=__doc__)
    parser.add_argument("--port", type=int, default=8123, help="port on 127.0.0.1; 0 for any free port")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    given = parser.parse_args()
    if not (0 <= given.port <= 65535 and 0 <= given.latency <= 60):
        parser.error("give a port from 0 to 65535 and a latency from 0 to 60 seconds")
    try:
        with StubServer(given.port, given.latency) as server:
            url = server.url
            print(f"base_url is {url}/v1 for openai, {url} for anthropic; counts at {url}/stats", flush=True)
            with suppress(KeyboardInterrupt):
                Event().wait()
    except ConfigError as error:
        parser.error(str(error))
