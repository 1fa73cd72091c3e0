"""The folder of a game, and who has which seat: secret links, each for one browser, traded for cookies.

A link has a token in its fragment, which browsers do not send with requests, so it does not appear in logs, proxies or
referrers. The page posts the token once, and gets a cookie that scripts cannot read and that is not sent from other
sites. It sends its browser's own random number, too, so that a use whose response was lost can be repeated, but only by
the same browser. A spectator's link can be used by many people. A player can make further links for other devices.

The folder has the journal, `game.sqlite`: the settings, the secret of the cookies, the addresses at which the game was
served, hashes of tokens and of the browsers that used them, and all that people and policies did (see `table`). The
host can make new links while the server runs. If a stranger has used a link, the new one takes the seat back: when it
is used, all browsers that have the seat lose it, and all earlier links end.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from agents.runtime.files import reason
from evaluation.web.journal import Journal
from evaluation.web.serving import Address, Refused
from evaluation.web.settings import SPECTATOR, SeatedGameError, TableSettings

FILE = "game.sqlite"
SHORTEST_NUMBER, LONGEST_NUMBER = 16, 64  # characters of a browser's number
NO_LINK = "this link is not valid for this game: open the link that you were given"
USED = (
    "this link was already used in another browser. There, 'Play on another device' makes a new link. If it was not "
    "you, tell the host"
)


class GameFolder:
    """A game with people. Several processes may use it at the same time, but only one plays it.

    Args:
        folder: the game's folder.

    Attributes:
        settings, secret: of the game.
        address: where the game is served, or was last.

    Raises:
        SeatedGameError: there is no game, or it is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.journal, self._lock = folder, Journal(folder / FILE), -1
        if not self.journal.path.is_file():
            raise SeatedGameError(f"{folder}: there is no game in this folder; by default, games are in runs/play")
        entries = self.journal.entries()
        try:
            self.settings = TableSettings.from_dict(entries[0]["settings"])
            self.secret = str(entries[0]["secret"])
            self.address = Address(**[each for each in entries if each["kind"] == "served"][-1]["address"])
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise SeatedGameError(f"{self.journal.path}: damaged: {error!r:.200}") from error

    @classmethod
    def create(cls, folder: Path, settings: TableSettings, address: Address) -> Self:
        """Create a game in a folder of games, which is created if missing.

        Raises:
            SeatedGameError: the folder cannot be created.
        """
        own = folder / secrets.token_hex(8)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            own.mkdir(mode=0o700)
        except OSError as error:
            raise SeatedGameError(f"{folder}: {reason(error)}") from error
        with Journal(own / FILE).open() as entries:
            entries.append({"kind": "game", "settings": settings.to_dict(), "secret": secrets.token_urlsafe()})
            entries.append({"kind": "served", "address": asdict(address)})
        return cls(own)

    @property
    def name(self) -> str:
        """The name of the game in addresses."""
        return self.folder.resolve().name

    def lock(self) -> None:
        """Take the game for this object, until `release` or the end of the process.

        Raises:
            SeatedGameError: another process plays it.
        """
        self._lock = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise SeatedGameError(f"{self.folder}: another process plays this game; stop it first") from error

    def release(self) -> None:
        """Let other processes play the game."""
        if self._lock >= 0:
            os.close(self._lock)
        self._lock = -1

    def serve(self, address: Address) -> None:
        """Note where the game is served now."""
        self.journal.append({"kind": "served", "address": asdict(address)})
        self.address = address

    def link(self, seat: str, takes_over: bool = False) -> str:
        """The path of a new link on the server.

        Args:
            takes_over: using the link takes the seat from all other browsers.

        Raises:
            SeatedGameError: the link cannot be written.
        """
        token = secrets.token_urlsafe()
        self.journal.append({"kind": "link", "seat": seat, "token": _hash(token), "takes_over": takes_over})
        return f"/g/{self.name}/{seat}#{token}"

    def redeem(self, seat: str, token: object, browser: object) -> int:
        """Use a link; this is on disk when the method returns.

        Args:
            browser: the browser's own random number.

        Returns:
            The number of times that the seat was taken over.

        Raises:
            Refused: an invalid link, one used by another browser, or one that the host replaced; nothing has changed.
            SeatedGameError: the use cannot be written.
        """
        if not isinstance(token, str) or not isinstance(browser, str):
            raise Refused(404, "unknown", NO_LINK)
        if not SHORTEST_NUMBER <= len(browser) <= LONGEST_NUMBER:
            raise Refused(404, "unknown", f"browser must have {SHORTEST_NUMBER} to {LONGEST_NUMBER} characters")
        own = {"token": _hash(token), "seat": seat}
        with self.journal.open() as entries:
            seen = [
                number for number, each in enumerate(entries) if each["kind"] == "link" and own.items() <= each.items()
            ]
            if not seen:
                raise Refused(404, "unknown", NO_LINK)
            later = _takeovers(entries[seen[0] :], seat)
            if any(each["token"] != own["token"] for each in later):
                raise Refused(404, "old", "the host has replaced this link: ask for the new one")
            uses = [each for each in entries if each["kind"] == "use" and each["token"] == own["token"]]
            use = {"kind": "use", **own, "browser": _hash(browser), "takes_over": entries[seen[0]]["takes_over"]}
            if seat != SPECTATOR and not uses:
                entries.append(use)
            elif seat != SPECTATOR and uses[0]["browser"] != use["browser"]:
                raise Refused(404, "used", USED)
            return len(_takeovers(entries, seat))

    def takeovers(self) -> dict[str, int]:
        """Seat -> the number of times that it was taken over."""
        entries = self.journal.entries()
        return {seat: len(_takeovers(entries, seat)) for seat in self.settings.seats}


def _takeovers(entries: Sequence[Mapping[str, Any]], seat: str) -> list[Mapping[str, Any]]:
    return [each for each in entries if each["kind"] == "use" and each["seat"] == seat and each["takes_over"]]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def cookie_name(seat: str) -> str:
    """The name of a seat's cookie; one browser can have several seats."""
    return f"seat-{seat.encode().hex()}"


def cookie_value(secret: str) -> str:
    """The value of the cookie of a seat with this secret: nothing must be stored, and the secret does not follow."""
    return hmac.new(secret.encode(), b"cookie", hashlib.sha256).hexdigest()


def holds(cookies: Mapping[str, str], seat: str, secret: str) -> bool:
    """Whether the cookies of a request include the one of this seat; compared in constant time."""
    given = cookies.get(cookie_name(seat), "").encode("utf-8", "replace")
    return hmac.compare_digest(given, cookie_value(secret).encode())
