"""Who has which seat of a game: secret links, each for one browser, and the cookies they are exchanged for.

A link has a token in its fragment, which browsers do not send with requests, so it does not appear in logs, proxies or
referrers. The page posts the token once, and gets a cookie that scripts cannot read and that is not sent from other
sites. It sends its browser's own random number, too, so that a use whose response was lost can be repeated, but only by
the same browser. A spectator's link can be used by many people. A player can make further links for other devices.

`seats.jsonl` in the game's folder has the settings, the secret of the cookies, the addresses at which the game was
served, and the hashes of tokens and of the browsers that used them. The host can make new links while the server runs.
If a stranger has used a link, the new one takes the seat back: when it is used, all browsers that have the seat lose
it, and all earlier links end.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from agents.runtime.files import reason
from evaluation.web.journal import Journal, JournalError
from evaluation.web.serving import Address
from evaluation.web.settings import SPECTATOR, SeatedGameError, TableSettings
from welfare_env import WelfareEnvError

FILE = "seats.jsonl"
TOKEN_BYTES = 24
SHORTEST_NUMBER, LONGEST_NUMBER = 16, 64  # characters of a browser's number
NO_LINK = "this link is not valid for this game: open the link that you were given"


class LinkRefused(WelfareEnvError, ValueError):
    """A link was refused.

    Attributes:
        code: "unknown", "used" (by another browser), or "old" (replaced by the host).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class GameFolder:
    """The seats of a game. Several processes may use them at the same time.

    Args:
        folder: the game's folder.

    Attributes:
        settings, secret: of the game.
        address: where the game is served, or was last.

    Raises:
        SeatedGameError, JournalError: there is no game, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self._path = folder, folder / FILE
        if not self._path.is_file():
            raise SeatedGameError(f"{folder}: there is no game in this folder; by default, games are in runs/play")
        with self._open() as journal:
            self.settings = TableSettings.from_dict(journal.entries[0]["settings"])
            self.secret = str(journal.entries[0]["secret"])
            self.address = Address(**[each for each in journal.entries if each["kind"] == "served"][-1]["address"])

    @classmethod
    def create(cls, folder: Path, settings: TableSettings, address: Address) -> Self:
        """Create a game in a folder of games, which is created if missing.

        Raises:
            SeatedGameError, JournalError: the folder cannot be created.
        """
        own = folder / secrets.token_hex(8)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            own.mkdir(mode=0o700)
        except OSError as error:
            raise SeatedGameError(f"{folder}: {reason(error)}") from error
        with Journal(own / FILE) as journal:
            journal.append({"kind": "game", "settings": settings.to_dict(), "secret": new_token()})
            journal.append(_served(address))
        return cls(own)

    @property
    def name(self) -> str:
        """The name of the game in addresses."""
        return self.folder.resolve().name

    def serve(self, address: Address) -> None:
        """Note where the game is served now."""
        with self._open() as journal:
            journal.append(_served(address))
        self.address = address

    def link(self, seat: str, takes_over: bool = False) -> str:
        """The path of a new link on the server.

        Args:
            takes_over: using the link takes the seat from all other browsers.

        Raises:
            JournalError: the link cannot be written.
        """
        token = new_token()
        with self._open() as journal:
            journal.append({"kind": "link", "seat": seat, "token": _hash(token), "takes_over": takes_over})
        return f"/g/{self.name}/{seat}#{token}"

    def redeem(self, seat: str, token: object, browser: object) -> int:
        """Use a link; this is on disk when the method returns.

        Args:
            browser: the browser's own random number.

        Returns:
            The number of times that the seat was taken over.

        Raises:
            LinkRefused: an invalid link; nothing has changed.
            JournalError: the use cannot be written.
        """
        if not isinstance(token, str) or not isinstance(browser, str):
            raise LinkRefused("unknown", NO_LINK)
        if not SHORTEST_NUMBER <= len(browser) <= LONGEST_NUMBER:
            raise LinkRefused("unknown", f"browser must have {SHORTEST_NUMBER} to {LONGEST_NUMBER} characters")
        with self._open() as journal:
            link = _find(journal.entries, "link", token)
            if link is None or link["seat"] != seat:
                raise LinkRefused("unknown", NO_LINK)
            made = journal.entries.index(link)
            if any(use > made and other != link["token"] for use, other in _takeovers(journal.entries, seat)):
                raise LinkRefused("old", "the host has replaced this link: ask for the new one")
            if seat != SPECTATOR and not _is_used(journal.entries, token, browser):
                journal.append({"kind": "use", "token": _hash(token), "browser": _hash(browser)})
            return len(_takeovers(journal.entries, seat))

    def takeovers(self, seat: str) -> int:
        """The number of times that the seat was taken over."""
        with self._open() as journal:
            return len(_takeovers(journal.entries, seat))

    @contextmanager
    def _open(self) -> Iterator[Journal]:
        with Journal(self._path, waits=True) as journal:
            try:
                yield journal
            except (KeyError, TypeError, AttributeError, IndexError) as error:
                raise JournalError(self._path, f"damaged: {error!r:.200}") from error


def _served(address: Address) -> dict[str, Any]:
    own = {"host": address.host, "port": address.port, "public_url": address.public_url}
    return {"kind": "served", "address": own}


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _find(entries: Sequence[dict[str, Any]], kind: str, token: str) -> dict[str, Any] | None:
    wanted = _hash(token)
    return next((each for each in entries if each["kind"] == kind and each["token"] == wanted), None)


def _is_used(entries: Sequence[dict[str, Any]], token: str, browser: str) -> bool:
    """Whether this browser has already used the link.

    Raises:
        LinkRefused: another browser has used it.
    """
    use = _find(entries, "use", token)
    if use is not None and use["browser"] != _hash(browser):
        raise LinkRefused(
            "used",
            "this link was already used in another browser. There, 'Play on another device' makes a new link. If it "
            "was not you, tell the host",
        )
    return use is not None


def _takeovers(entries: Sequence[dict[str, Any]], seat: str) -> list[tuple[int, str]]:
    """The uses of links that took over a seat: index of the use in `entries`, hash of the token."""
    links = [each for each in entries if each["kind"] == "link" and each["takes_over"] and each["seat"] == seat]
    taking, uses = {each["token"] for each in links}, enumerate(entries)
    return [(place, each["token"]) for place, each in uses if each["kind"] == "use" and each["token"] in taking]


# Tokens and cookies. A cookie is derived from the secret of its seat, so nothing about it must be stored; the secret
# cannot be derived from a stolen cookie.


def new_token() -> str:
    """A random token for a link, with 192 bits."""
    return secrets.token_urlsafe(TOKEN_BYTES)


def cookie_name(seat: str) -> str:
    """The name of a seat's cookie; one browser can have several seats."""
    return "seat-" + re.sub("[^A-Za-z0-9]", "-", seat)


def cookie_value(secret: str) -> str:
    """The value of the cookie of a seat with this secret."""
    return hmac.new(secret.encode(), b"cookie", hashlib.sha256).hexdigest()


def holds(cookies: Mapping[str, str], seat: str, secret: str) -> bool:
    """Whether the cookies of a request include the one of this seat; compared in constant time."""
    given = cookies.get(cookie_name(seat), "").encode("utf-8", "replace")
    return hmac.compare_digest(given, cookie_value(secret).encode())
