"""The links of seats: each can be used once, by one browser; the player can make further links for other devices.

A link contains a token. `links.jsonl` in the game's folder has the hashes of tokens and of the browsers that used them:
the page sends its browser's own random number with the token, so that a use whose response was lost can be repeated,
but only by the same browser. A spectator's link can be used by many people.

The host can make new links while the server runs (``welfare-env invite``). A link made with `alone`, for the case that
a stranger has used a link, takes the seat from all browsers that have it and invalidates all earlier links.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.web.foundation.journal import Journal, JournalError, Kinds
from evaluation.web.foundation.keys import new_token
from evaluation.web.games.settings import SPECTATOR
from welfare_env import WelfareEnvError

FILE = "links.jsonl"
KINDS: Kinds = {
    "link": {"seat": str, "token": str, "until": float, "alone": bool},
    "trade": {"token": str, "browser": str},
    "served": {"url": str},
}
SHORTEST_NUMBER, LONGEST_NUMBER = 16, 64  # characters of a browser's number
DEVICE_SECONDS = 30 * 60  # lifetime of a link for another device of the same person
MOST = 200  # maximum number of such links per seat
NO_LINK = "this link is not valid for this game: open the link that you were given"


class LinkRefused(WelfareEnvError, ValueError):
    """A link was refused.

    Attributes:
        code: "unknown", "used" (by another browser), "old", or "many" (no more can be made).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Links:
    """All links of a game. Several processes may use them at the same time.

    Args:
        folder: the game's folder.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE

    def _open(self) -> Journal:
        return Journal(self._path, waits=True, kinds=KINDS)

    def new(self, seat: str, seconds: float = 0, alone: bool = False) -> str:
        """Make a link and return its token.

        Args:
            seconds: lifetime of the link; 0 for unlimited.
            alone: using the link takes the seat from all other browsers.

        Raises:
            LinkRefused: the seat has too many links with limited lifetime.
            JournalError: the link cannot be written.
        """
        token = new_token()
        until = time.time() + seconds if seconds else 0
        with self._open() as journal:
            if seconds and sum(entry.get("seat") == seat and entry["until"] > 0 for entry in journal.entries) >= MOST:
                raise LinkRefused("many", f"{MOST} such links were made already: ask the host for a link")
            journal.append({"kind": "link", "seat": seat, "token": _hash(token), "until": until, "alone": alone})
        return token

    def redeem(self, seat: str, token: object, browser: object) -> int:
        """Use a link; this is on disk when the method returns.

        Args:
            browser: the browser's own random number.

        Returns:
            The number of times that the seat was taken from all its browsers.

        Raises:
            LinkRefused: an invalid link; nothing has changed.
            JournalError: the use cannot be written.
        """
        if not isinstance(token, str) or not isinstance(browser, str):
            raise LinkRefused("unknown", "give token and browser as strings")
        if not SHORTEST_NUMBER <= len(browser) <= LONGEST_NUMBER:
            raise LinkRefused("unknown", f"browser must have {SHORTEST_NUMBER} to {LONGEST_NUMBER} characters")
        with self._open() as journal:
            link = _find(journal.entries, "link", token)
            if link is None or link["seat"] != seat:
                raise LinkRefused("unknown", NO_LINK)
            if _is_ended(journal.entries, link):
                raise LinkRefused("old", "the host has replaced this link: ask for the new one")
            if seat != SPECTATOR and not _is_traded(journal.entries, token, browser):
                if link["until"] and time.time() > link["until"]:
                    raise LinkRefused("old", "this link has expired: make a new one on the device where you play")
                journal.append({"kind": "trade", "token": _hash(token), "browser": _hash(browser)})
            return _revocations(journal.entries, seat)

    def is_known(self, token: object) -> bool:
        """Whether the game has a link with this token. Uses no lock and no parsing, since anybody can call it.

        Raises:
            JournalError: the file cannot be read.
        """
        try:
            return isinstance(token, str) and _hash(token).encode() in self._path.read_bytes()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise JournalError(self._path, str(error.strerror)) from error

    def is_alone(self, seat: str, token: object) -> bool:
        """Whether the token is of a link of this seat made with `alone`."""
        if not isinstance(token, str) or not self.is_known(token):
            return False
        with self._open() as journal:
            link = _find(journal.entries, "link", token)
        return link is not None and link["seat"] == seat and bool(link["alone"])

    def revocations(self, seat: str) -> int:
        """The number of times that the seat was taken from all its browsers."""
        with self._open() as journal:
            return _revocations(journal.entries, seat)

    def serve(self, url: str) -> None:
        """Record the URL at which the game is served."""
        with self._open() as journal:
            journal.append({"kind": "served", "url": url})

    @property
    def url(self) -> str:
        """The URL at which the game was last served; "" if never."""
        with self._open() as journal:
            served = [str(entry["url"]) for entry in journal.entries if entry["kind"] == "served"]
        return served[-1] if served else ""


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _find(entries: list[dict[str, Any]], kind: str, token: str) -> Mapping[str, Any] | None:
    wanted = _hash(token)
    return next((entry for entry in entries if entry["kind"] == kind and entry["token"] == wanted), None)


def _is_traded(entries: list[dict[str, Any]], token: str, browser: str) -> bool:
    """Whether this browser has already used the link.

    Raises:
        LinkRefused: another browser has used it.
    """
    trade = _find(entries, "trade", token)
    if trade is not None and trade["browser"] != _hash(browser):
        raise LinkRefused(
            "used",
            "this link was already used in another browser. There, 'Play on another device' makes a new link. If it "
            "was not you, tell the host",
        )
    return trade is not None


def _revoking(entries: list[dict[str, Any]], seat: str) -> list[tuple[str, int]]:
    """The uses of links made with `alone` for a seat: (hash of the token, index of the use in `entries`)."""
    alone = {entry["token"] for entry in entries if entry.get("seat") == seat and entry["alone"]}
    trades = enumerate(entries)
    return [(entry["token"], place) for place, entry in trades if entry["kind"] == "trade" and entry["token"] in alone]


def _revocations(entries: list[dict[str, Any]], seat: str) -> int:
    return len(_revoking(entries, seat))


def _is_ended(entries: list[dict[str, Any]], link: Mapping[str, Any]) -> bool:
    """Whether another link took the seat from all browsers after this link was made."""
    made = next(place for place, entry in enumerate(entries) if entry is link)
    return any(token != link["token"] and place > made for token, place in _revoking(entries, link["seat"]))
