"""The application and its server: routes behind the guard, on this machine alone unless asked otherwise.

>>> address = Address()  # loopback, a free port
>>> site = make_site(routes, address)
>>> run_site(site, address, on_start=lambda url: print(url))  # until interrupted

Files in `static` are served under ``/static/``; `scripts` joins several into one. Pages use no inline script and no
inline style: the security policy of `guard` refuses both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import ipaddress
import resource
import socket
from collections.abc import Callable, Collection, Iterator, Sequence
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
from evaluation.web.foundation.guard import JSON, LEAST_BODY, LOOPBACK, Guard, host_name, url_parts
from welfare_env import WelfareEnvError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Lifespan

TYPES = {"js": "text/javascript", "css": "text/css"}
BUNDLES: dict[str, tuple[str, ...]] = {}
"""Name under /static/ -> the files that it is made of, each "PACKAGE/FILE"; filled by the pages' modules."""
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 (compared, not bound)
ASKING = "evaluation.web.foundation/asking.js"  # for pages that ask the server


@dataclass(frozen=True)
class Address:
    """Where a server is reached.

    Attributes:
        host: the address to listen on. Loopback is this machine alone; "0.0.0.0" is everybody who can reach it, by one
            of its own addresses or by its host name.
        port: 0 for a free one.
        public_url: of a reverse proxy before it, such as "https://play.example.org"; cookies are then for https only.
        names: further names under which the server is asked for.
        limits: of connections; behind a reverse proxy all have the proxy's address, and the proxy must count them.

    Raises:
        EvaluationError: a public URL that is none, or has more than a host and a port; a name with more than a host.
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
            raise EvaluationError(f"public URL {self.public_url!r:.100}: give one such as https://play.example.org")
        for name in self.names:
            if not name or host_name(f"[{name}]" if ":" in name else name) != name.lower():
                raise EvaluationError(f"name {name!r:.100}: give a host alone, such as desk.lan, without http and port")

    @property
    def hosts(self) -> list[str]:
        """The names that a request may ask for."""
        own = own_names() if self.host in EVERYWHERE else [self.host]
        public = url_parts(self.public_url)
        return [*LOOPBACK, *own, *self.names, *([public.hostname] if public and public.hostname else [])]

    @property
    def is_secure(self) -> bool:
        """Whether people reach it over https."""
        return self.public_url.lower().startswith("https:")

    def url(self, port: int) -> str:
        """How people reach it, without a slash at the end."""
        if self.public_url:
            return self.public_url.rstrip("/")
        own = own_names()[0] if self.host in EVERYWHERE and not self.names else self.host
        host = self.names[0] if self.names else own
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def own_names() -> list[str]:
    """This machine's addresses, that by which others reach it first, and its host name. Sends nothing.

    Only a socket's own address tells what the way to others is; many machines give loopback for their own name.
    """
    found, name = [], socket.gethostname().lower()
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):  # for documentation
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as sock:
            sock.connect((elsewhere, 9))  # of datagrams: chooses an address, and sends none
            found.append(sock.getsockname()[0])
    with contextlib.suppress(OSError):
        found += [str(each[4][0]).partition("%")[0] for each in socket.getaddrinfo(name, None)]
    reached = [address for address in found if not ipaddress.ip_address(address).is_loopback]
    return list(dict.fromkeys([*reached, name]))


def make_site(
    routes: Sequence[Route],
    address: Address,
    lifespan: Lifespan[Starlette] | None = None,
    types: Collection[str] = (JSON,),
    most_text: int = 0,
) -> ASGIApp:
    """The application: routes and the static files, behind the guard.

    Args:
        types: see `Guard`.
        most_text: bytes that the texts of one request may take, such as messages, as they are sent.
    """
    static = Route("/static/{name}", _static, methods=["GET"])
    site = Starlette(routes=[*routes, static], lifespan=lifespan, exception_handlers={WelfareEnvError: failed})
    return Guard(site, address.hosts, LEAST_BODY + most_text, types=types)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in BUNDLES:
        return Response("no such file", 404)
    return Response(bundle(name), media_type=TYPES[name.rpartition(".")[2]])


@functools.cache
def bundle(name: str) -> str:
    """A static file; several scripts are joined into one without global names."""
    parts = [_file(path) for path in BUNDLES[name]]
    return "\n".join(parts) if name.endswith(".css") else '"use strict";(() => {\n' + "\n".join(parts) + "\n})();\n"


def _file(path: str) -> str:
    package, _, name = path.partition("/")
    return resources.files(package).joinpath(f"static/{name}").read_text("utf-8")


def run_site(site: ASGIApp, address: Address, on_start: Callable[[str], None] = lambda url: None) -> None:
    """Serve until the process is interrupted.

    Args:
        on_start: called with the address once connections are taken.

    Raises:
        EvaluationError: the port cannot be used.
    """
    with listening(address) as sock:
        server = make_server(site, address)
        on_start(address.url(sock.getsockname()[1]))  # the socket listens: a browser that is early waits
        server.run(sockets=[sock])


def make_server(site: ASGIApp, address: Address) -> uvicorn.Server:
    """A server without a log of requests."""
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
    """A socket that listens.

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
    """Each connection is an open file, of which shells allow few at first."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
