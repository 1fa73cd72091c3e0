"""The application and its server: routes behind the guard, by default only for this machine.

>>> address = Address()  # loopback, a free port
>>> site = make_site(routes, address)
>>> with listening(address) as sock:
...     make_server(site).run(sockets=[sock])  # until interrupted
"""

from __future__ import annotations

import contextlib
import ipaddress
import resource
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

from evaluation.checks import EvaluationError
from evaluation.web.guard import LOOPBACK, MAX_BODY_WITHOUT_TEXT, Guard, failed, url_parts
from welfare_env import WelfareEnvError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Lifespan

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared, not bound)
MAX_CONNECTIONS = 4000  # beyond them, requests get status 503


@dataclass(frozen=True)
class Address:
    """The addresses of a server.

    Attributes:
        host: the address to listen on. With a loopback address, only this machine can connect; with "0.0.0.0",
            everybody who can reach this machine, by its addresses or its host name.
        port: the port; 0 for a free port.
        public_url: the URL that people use, if it is another one: of a reverse proxy, such as
            "https://play.example.org", or with another name of this machine; with https, cookies are https only.

    Raises:
        EvaluationError: an invalid public URL, or one with more than host and port.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str = ""

    def __post_init__(self) -> None:
        parts = url_parts(self.public_url)
        is_url = parts is not None and parts.scheme in ("http", "https") and parts.hostname
        is_whole = (
            parts is not None and self.public_url.rstrip("/").lower() == f"{parts.scheme}://{parts.netloc}".lower()
        )
        if self.public_url and not (is_url and is_whole):
            raise EvaluationError(f"public URL {self.public_url!r:.100}: give a URL such as https://play.example.org")

    @property
    def hosts(self) -> list[str]:
        """The host names that requests may use."""
        own = own_names() if self.host in EVERYWHERE else [self.host]
        public = url_parts(self.public_url)
        return [*LOOPBACK, *own, *([public.hostname] if public and public.hostname else [])]

    @property
    def is_secure(self) -> bool:
        """Whether people connect over https."""
        return self.public_url.lower().startswith("https:")

    @property
    def url(self) -> str:
        """The server's URL for people, without trailing slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        host = own_names()[0] if self.host in EVERYWHERE else self.host
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def own_names() -> list[str]:
    """This machine's addresses (the one that others can reach first) and its host name. Sends nothing.

    The outgoing address is found by connecting a socket, since many machines resolve their own name to loopback.
    """
    found, name = [], socket.gethostname().lower()
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):  # for documentation
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((elsewhere, 9))  # a UDP socket: selects an address, but sends nothing
            found.append(sock.getsockname()[0])
    with contextlib.suppress(OSError):
        found += [str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None)]
    reached = [address for address in found if not ipaddress.ip_address(address).is_loopback]
    return list(dict.fromkeys([*reached, name]))


def make_site(
    routes: Sequence[Route], address: Address, lifespan: Lifespan[Starlette] | None = None, max_text: int = 0
) -> ASGIApp:
    """The application: routes behind the guard.

    Args:
        max_text: maximum bytes, encoded, of the texts in one request, such as messages.
    """
    site = Starlette(routes=routes, lifespan=lifespan, exception_handlers={WelfareEnvError: failed})
    return Guard(site, address.hosts, MAX_BODY_WITHOUT_TEXT + max_text)


def make_server(site: ASGIApp) -> uvicorn.Server:
    """A uvicorn server, without access log."""
    config = uvicorn.Config(
        site,
        http="h11",
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=2**14,
        lifespan="on",
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def listening(address: Address) -> Iterator[socket.socket]:
    """A listening socket; an early browser just waits until the server runs.

    Raises:
        EvaluationError: the address or the port cannot be used.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # by default too low for the connections
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(MAX_CONNECTIONS + 200, hard)), hard))
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address.host, address.port))
        except OSError as error:
            where = f"{address.host}:{address.port}"
            raise EvaluationError(f"cannot listen on {where}: {error.strerror}; give another --port") from error
        sock.listen(1024)
        yield sock
