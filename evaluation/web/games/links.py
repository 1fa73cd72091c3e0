"""The links of seats: each can be used once, by one browser, and who has the seat can make another one.

A link holds a token. `links.jsonl` in the game's folder has the tokens' hashes, and which browser traded which: the
page sends a number of its browser's own with the token, so that a trade whose answer was lost can be made again from
there, and from nowhere else. A spectator's link is for many people and is never used up.

The host makes new links while the server runs (``welfare-env invite``). A link made with `alone` takes the seat from
all browsers that had it, and ends all links before it: for a link that a stranger has used.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.web.foundation.journal import Journal, JournalError
from evaluation.web.foundation.keys import new_token
from evaluation.web.games.settings import SPECTATOR
from welfare_env import WelfareEnvError

FILE = "links.jsonl"
SHORTEST_NUMBER, LONGEST_NUMBER = 16, 64  # characters of a browser's number
DEVICE_SECONDS = 30 * 60  # for which a link to another device of the same person can be used
MOST = 200  # links to other devices, of a seat
NO_LINK = "this is no link of the game: open the one that you were given"


class LinkRefused(WelfareEnvError, ValueError):
    """A link that leads nowhere.

    Attributes:
        code: "unknown", "used" (by another browser), "old", or "many" (no more are made).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Links:
    """All links of a game; also another process may make some.

    Args:
        folder: of the game.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def new(self, seat: str, seconds: float = 0, alone: bool = False) -> str:
        """Make a link. Returns its token.

        Args:
            seconds: for which it can be used; 0 is forever.
            alone: its use takes the seat from all browsers that had it.

        Raises:
            LinkRefused: the seat has too many links with an end. JournalError: it cannot be written.
        """
        token = new_token()
        until = time.time() + seconds if seconds else 0
        with Journal(self._path, waits=True) as journal:
            if seconds and sum(entry.get("seat") == seat and entry["until"] > 0 for entry in journal.entries) >= MOST:
                raise LinkRefused("many", f"{MOST} such links were made already: ask the host for another one")
            journal.append({"kind": "link", "seat": seat, "token": _hash(token), "until": until, "alone": alone})
        return token

    def trade(self, seat: str, token: object, browser: object) -> int:
        """Use a link; the use is on disk when this returns.

        Args:
            browser: the browser's own number.

        Returns:
            How many times the seat was taken from all its browsers.

        Raises:
            LinkRefused: see there. Nothing has changed then. JournalError: it cannot be written.
        """
        if not isinstance(token, str) or not isinstance(browser, str):
            raise LinkRefused("unknown", "a link has a token, and a browser a number")
        if not SHORTEST_NUMBER <= len(browser) <= LONGEST_NUMBER:
            raise LinkRefused("unknown", f"a browser's number has {SHORTEST_NUMBER} to {LONGEST_NUMBER} characters")
        with Journal(self._path, waits=True) as journal:
            link = _find(journal.entries, "link", token)
            if link is None or link["seat"] != seat:
                raise LinkRefused("unknown", NO_LINK)
            if _is_ended(journal.entries, link):
                raise LinkRefused("old", "this link was ended by the host: ask for another one")
            if seat != SPECTATOR and not _is_traded(journal.entries, token, browser):
                if link["until"] and time.time() > link["until"]:
                    raise LinkRefused("old", "this link is too old: make another one where you play")
                journal.append({"kind": "trade", "token": _hash(token), "browser": _hash(browser)})
            return _taken(journal.entries, seat)

    def is_known(self, token: object) -> bool:
        """Whether the game has a link with this token. Takes no lock and parses nothing, since anybody may ask.

        Raises:
            JournalError: it cannot be read.
        """
        try:
            return isinstance(token, str) and _hash(token).encode() in self._path.read_bytes()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise JournalError(self._path, str(error.strerror)) from error

    def is_alone(self, seat: str, token: object) -> bool:
        """Whether this is a link of the seat whose use takes it from all browsers."""
        if not isinstance(token, str) or not self.is_known(token):
            return False
        with Journal(self._path, waits=True) as journal:
            link = _find(journal.entries, "link", token)
        return link is not None and link["seat"] == seat and bool(link["alone"])

    def taken(self, seat: str) -> int:
        """How many times the seat was taken from all its browsers."""
        with Journal(self._path, waits=True) as journal:
            return _taken(journal.entries, seat)

    def serve(self, url: str) -> None:
        """Note under which address the game is served."""
        with Journal(self._path, waits=True) as journal:
            journal.append({"kind": "served", "url": url})

    @property
    def url(self) -> str:
        """The address at which the game was served last; "" if it never was."""
        with Journal(self._path, waits=True) as journal:
            served = [str(entry["url"]) for entry in journal.entries if entry["kind"] == "served"]
        return served[-1] if served else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _find(entries: list[dict[str, Any]], kind: str, token: str) -> Mapping[str, Any] | None:
    wanted = _hash(token)
    return next((entry for entry in entries if entry["kind"] == kind and entry["token"] == wanted), None)


def _is_traded(entries: list[dict[str, Any]], token: str, browser: str) -> bool:
    """Whether this browser has traded it before.

    Raises:
        LinkRefused: another one has.
    """
    trade = _find(entries, "trade", token)
    if trade is not None and trade["browser"] != _hash(browser):
        raise LinkRefused(
            "used",
            "this link was used already, in another browser. Where you play, 'Play on another device' makes a new one; "
            "if you have not used it yourself, tell the host",
        )
    return trade is not None


def _takings(entries: list[dict[str, Any]], seat: str) -> list[tuple[str, int]]:
    """The uses of links that took the seat from all: the tokens' hashes, and the places of the uses."""
    alone = {entry["token"] for entry in entries if entry.get("seat") == seat and entry["alone"]}
    trades = enumerate(entries)
    return [(entry["token"], place) for place, entry in trades if entry["kind"] == "trade" and entry["token"] in alone]


def _taken(entries: list[dict[str, Any]], seat: str) -> int:
    return len(_takings(entries, seat))


def _is_ended(entries: list[dict[str, Any]], link: Mapping[str, Any]) -> bool:
    """Whether the seat was taken from all by another link after this one was made."""
    made = next(place for place, entry in enumerate(entries) if entry is link)
    return any(token != link["token"] and place > made for token, place in _takings(entries, link["seat"]))
