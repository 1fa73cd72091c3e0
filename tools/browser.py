"""A headless browser for tests and screenshots of pages: Chromium over its DevTools pipe.

Needs only Chromium itself (Debian: ``apt install chromium``).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 60.0  # seconds to wait for an answer
NO_DOCUMENT = "Cannot find default execution context"
KEYS = {
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
    "Home": (36, ""),
    "End": (35, ""),
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    " ": (32, " "),
}


class BrowserError(Exception):
    """A script of the page failed, or the browser did not answer."""


def chromium() -> str | None:
    """The path of Chromium, if installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One tab. Use it in a ``with`` block.

    Attributes:
        complaints: errors, warnings and content security policy violations since the page was opened.
        requests: addresses that the page requested, without its own.
    """

    def __enter__(self) -> Browser:
        self._folder = tempfile.mkdtemp(prefix="browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]  # keeps 3 and 4 free
        flags = (
            f"--headless=new --no-sandbox --disable-gpu --remote-debugging-pipe --no-first-run --mute-audio "
            f"--hide-scrollbars --disable-dev-shm-usage --user-data-dir={self._folder}"
        )
        self._process = subprocess.Popen(  # noqa: S603 (Chromium, with flags of ours)
            ["/bin/bash", "-c", f"exec {chromium()} {flags} about:blank 3<&{ends[0]} 4>&{ends[1]}"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        os.set_blocking(self._read, False)
        self._buffer, self._number, self._session = b"", 0, ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        try:
            self._attach()
        except BrowserError:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._write)
        self._process.terminate()
        self._process.wait(timeout=PATIENCE)
        os.close(self._read)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _attach(self) -> None:
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    # User actions.

    def open(self, path: Path | str, link: str = "") -> None:
        """Load a page from a file or a server (http://...), and wait until it is loaded."""
        self.complaints.clear()
        self.requests.clear()
        self._loaded = False
        self.call("Page.navigate", url="about:blank")
        self._wait_for_load()
        self._loaded = False
        address = str(path) if str(path).startswith("http") else Path(path).resolve().as_uri()
        self.call("Page.navigate", url=address + (f"#{link}" if link else ""))
        self._wait_for_load()

    def look(self, width: int, height: int, dark: bool = False, scale: float = 1, mobile: bool = False) -> None:
        """Set the window's size in CSS pixels, and light or dark colors."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def press(self, key: str) -> None:
        """Press and release a key."""
        code, text = KEYS.get(key, (ord(key.upper()[0]), key))
        told = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **told)
        self.call("Input.dispatchKeyEvent", type="keyUp", **told)

    def ask(self, script: str) -> Any:
        """Evaluate an expression in the page, as plain JSON types; promises are awaited.

        Raises:
            BrowserError: the expression throws.
        """
        until = time.monotonic() + PATIENCE
        while True:
            try:
                answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
                break
            except BrowserError as error:  # a tab just opened has no document yet
                if NO_DOCUMENT not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.02)
        if "exceptionDetails" in answer:
            raise BrowserError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """Click the first element that matches a CSS selector."""
        self.ask(f"document.querySelector({json.dumps(selector)}).click()")

    def picture(self, path: Path | str, whole: bool = False) -> None:
        """Save the visible part of the page, or the whole page, as PNG."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    # The protocol: JSON messages that end with a zero byte.

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol.

        Raises:
            BrowserError: the call fails, or there is no answer.
        """
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']}")
                return answer["result"]

    def _wait_for_load(self) -> None:
        while not self._loaded:
            self._next()

    def _next(self) -> dict[str, Any]:
        """The next message of the browser; events are recorded.

        Raises:
            BrowserError: no message within `PATIENCE` seconds.
        """
        until = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            try:
                self._buffer += os.read(self._read, 2**20)
            except BlockingIOError:
                if time.monotonic() > until or self._process.poll() is not None:
                    raise BrowserError("the browser does not answer") from None
                time.sleep(0.002)
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            self.complaints.append(str(params["exceptionDetails"].get("exception", {}).get("description"))[:300])
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(params["args"])[:300])
        elif event == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif event == "Network.requestWillBeSent" and params["documentURL"] != params["request"]["url"]:
            self.requests.append(params["request"]["url"])
