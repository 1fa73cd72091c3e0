"""The application and its server: routes behind the guard, by default only for this machine.

>>> address = Address()  # loopback, a free port
>>> site = make_site(routes, address)
>>> run_site(site, address, on_start=lambda url: print(url))  # until interrupted

Files in `static` are served under ``/static/``; `bundle` joins several files into one. Pages have no inline scripts or
styles, which the security policy of `guard` forbids.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import ipaddress
import resource
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from evaluation.checks import EvaluationError
from evaluation.web.foundation.answers import failed
from evaluation.web.foundation.connections import ConnectionLimits, limited
from evaluation.web.foundation.guard import LOOPBACK, MAX_BODY_WITHOUT_TEXT, Guard, host_name, url_parts
from welfare_env import WelfareEnvError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Lifespan

TYPES = {"js": "text/javascript", "css": "text/css"}
BUNDLES: dict[str, tuple[str, ...]] = {}
"""Name under /static/ -> the files it is made of, as "PACKAGE/FILE"; filled by the modules of the pages."""
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared, not bound)
ASKING = "evaluation.web.foundation/asking.js"  # for pages that send requests


@dataclass(frozen=True)
class Address:
    """The addresses of a server.

    Attributes:
        host: the address to listen on. With a loopback address, only this machine can connect; with "0.0.0.0",
            everybody who can reach this machine, by its addresses or its host name.
        port: the port; 0 for a free port.
        public_url: URL of a reverse proxy, such as "https://play.example.org"; with https, cookies are https only.
        names: further host names of the server.
        limits: limits of connections. Behind a reverse proxy, all connections have the proxy's address, so the proxy
            must limit the number per client.

    Raises:
        EvaluationError: an invalid public URL, or one with more than host and port; a name that is not just a host.
    """

    host: str = "127.0.0.1"
    port: int = 0
    public_url: str = ""
    names: Sequence[str] = ()
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)

    def __post_init__(self) -> None:
        parts = url_parts(self.public_url)
        is_url = parts is not None and parts.scheme in ("http", "https") and parts.hostname
        is_whole = (
            parts is not None and self.public_url.rstrip("/").lower() == f"{parts.scheme}://{parts.netloc}".lower()
        )
        if self.public_url and not (is_url and is_whole):
            raise EvaluationError(f"public URL {self.public_url!r:.100}: give a URL such as https://play.example.org")
        for name in self.names:
            if not name or host_name(f"[{name}]" if ":" in name else name) != name.lower():
                raise EvaluationError(f"name {name!r:.100}: give only a host, such as desk.lan, without http and port")

    @property
    def hosts(self) -> list[str]:
        """The host names that requests may use."""
        own = own_names() if self.host in EVERYWHERE else [self.host]
        public = url_parts(self.public_url)
        return [*LOOPBACK, *own, *self.names, *([public.hostname] if public and public.hostname else [])]

    @property
    def is_secure(self) -> bool:
        """Whether people connect over https."""
        return self.public_url.lower().startswith("https:")

    def url(self, port: int) -> str:
        """The server's URL for people, without trailing slash."""
        if self.public_url:
            return self.public_url.rstrip("/")
        own = own_names()[0] if self.host in EVERYWHERE and not self.names else self.host
        host = self.names[0] if self.names else own
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


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
    routes: Sequence[Route],
    address: Address,
    lifespan: Lifespan[Starlette] | None = None,
    most_text: int = 0,
) -> ASGIApp:
    """The application: routes and static files, behind the guard.

    Args:
        most_text: maximum bytes, encoded, of the texts in one request, such as messages.
    """
    static = Route("/static/{name}", _static, methods=["GET"])
    site = Starlette(routes=[*routes, static], lifespan=lifespan, exception_handlers={WelfareEnvError: failed})
    return Guard(site, address.hosts, MAX_BODY_WITHOUT_TEXT + most_text)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in BUNDLES:
        return Response("no such file", 404)
    return Response(bundle(name), media_type=TYPES[name.rpartition(".")[2]])


@functools.cache
def bundle(name: str) -> str:
    """A static file; scripts are joined into one, in a function scope."""
    parts = [_file(path) for path in BUNDLES[name]]
    return "\n".join(parts) if name.endswith(".css") else '"use strict";(() => {\n' + "\n".join(parts) + "\n})();\n"


def _file(path: str) -> str:
    package, _, name = path.partition("/")
    return resources.files(package).joinpath(f"static/{name}").read_text("utf-8")


def run_site(site: ASGIApp, address: Address, on_start: Callable[[str], None] = lambda url: None) -> None:
    """Serve until the process is interrupted.

    Args:
        on_start: called with the URL once connections are accepted.

    Raises:
        EvaluationError: the port cannot be used.
    """
    with listening(address) as sock:
        server = make_server(site, address)
        on_start(address.url(sock.getsockname()[1]))  # the socket already listens, so an early browser just waits
        server.run(sockets=[sock])


def make_server(site: ASGIApp, address: Address) -> uvicorn.Server:
    """A uvicorn server, without access log."""
    limits = address.limits
    if address.public_url:
        limits = dataclasses.replace(limits, most_each=limits.most)
    config = uvicorn.Config(
        site,
        http=limited(limits),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=2,
        h11_max_incomplete_event_size=2**14,
        lifespan="on",
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def listening(address: Address) -> Iterator[socket.socket]:
    """A listening socket.

    Raises:
        EvaluationError: the address or the port cannot be used.
    """
    _allow_files(address.limits.most + 200)
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


def _allow_files(wanted: int) -> None:
    """Raise the limit of open files, which by default is too low for the connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
