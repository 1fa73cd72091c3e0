"""A replay page in a real browser: size, first paint, step times, console complaints, and screenshots.

python -m benchmarks.replay game.html --pictures shots --phase F1904M
python -m benchmarks.replay game.html --axe node_modules/axe-core/axe.min.js    (npm install axe-core)
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Optional

import typer

from tools.browser import Browser

# Width, height, scale, mobile.
LOOKS = {"desktop": (1280, 800, 1, False), "small": (800, 600, 1, False), "phone": (390, 844, 2, True)}
STEP = """(() => { const began = performance.now();
document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight", bubbles: true}));
document.body.offsetHeight; return performance.now() - began })()"""
PAINT = """new Promise((done) => new PerformanceObserver((list) => {
for (const entry of list.getEntriesByName("first-contentful-paint")) done(entry.startTime)
}).observe({type: "paint", buffered: true}))"""
AXE = """axe.run().then((found) =>
found.violations.map((one) => [one.impact, one.id, one.nodes.length, one.nodes[0].html]))"""


def main(
    page: Annotated[Path, typer.Argument(help="A page from `welfare-env replay`.")],
    pictures: Annotated[Optional[Path], typer.Option(help="Folder for screenshots.")] = None,  # noqa: UP045
    phase: Annotated[str, typer.Option(help="Phase of the screenshots.")] = "",
    tab: Annotated[str, typer.Option(help="Tab of the screenshots: orders, messages or events.")] = "",
    axe: Annotated[Optional[Path], typer.Option(help="axe.min.js of axe-core.")] = None,  # noqa: UP045
) -> None:
    """Measure a replay page."""
    with Browser() as browser:
        browser.look(1280, 800)
        print(json.dumps(measured(browser, page)))
        if axe is not None:
            for dark in (False, True):
                browser.look(1280, 800, dark)
                browser.open(page, phase)
                print("axe, dark" if dark else "axe, light", json.dumps(findings(browser, axe), indent=1))
        if pictures is not None:
            take(browser, page, pictures, phase, tab)


def measured(browser: Browser, page: Path) -> dict[str, Any]:
    """Size in bytes, first paint and steps in milliseconds, complaints and requests, over the whole game.

    A step is timed from the key press to the end of layout; its CPU time is that of the page's thread, with painting.
    """
    browser.open(page)
    paint = browser.ask(PAINT)
    count = browser.ask("Number(document.getElementById('slider').max)")
    before = cpu(browser)
    steps = [browser.ask(STEP) for _ in range(count)]
    busy = cpu(browser) - before
    return {
        "bytes": page.stat().st_size,
        "first paint": round(paint),
        "phases": count + 1,
        "step, median": round(median(steps), 1),
        "step, longest": round(max(steps), 1),
        "step, mean of CPU": round(1000 * busy / count, 1),
        "complaints": browser.complaints[:3],
        "requests": browser.requests,
    }


def cpu(browser: Browser) -> float:
    """CPU seconds used by the page's thread; on a busy machine fairer than wall time."""
    browser.call("Performance.enable", timeDomain="threadTicks")
    told = browser.call("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in told if each["name"] == "TaskDuration"))


def findings(browser: Browser, axe: Path) -> list[Any]:
    """The findings of axe-core: impact, rule, count, first element."""
    browser.ask(axe.read_text(encoding="utf-8") + ";0")
    found: list[Any] = browser.ask(AXE)
    return found


def take(browser: Browser, page: Path, folder: Path, phase: str, tab: str) -> None:
    """Screenshots in desktop and phone size, light and dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (width, height, scale, mobile) in LOOKS.items():
        for dark in (False, True):
            browser.look(width, height, dark, scale, mobile)
            browser.open(page, phase)
            if tab:
                browser.click(f"#tab-{tab}")
            browser.ask("new Promise((done) => setTimeout(done, 600))")
            browser.picture(folder / f"{page.stem}-{name}{'-dark' * dark}.png")


if __name__ == "__main__":
    typer.run(main)
