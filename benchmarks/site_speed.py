"""How fast the site is in headless Chromium: first view, change of level, light, search, 2,000 boxes, export.

Usage: python benchmarks/site_speed.py [--home FOLDER] [--export]

Uses the atlases in FOLDER (or where ``oma`` keeps them); Kimi K2 must be among them. ``--export`` also times the
export of Kimi K2 and K3. Exit code 1 if a limit is passed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openmodelatlas.drawing.drawing import Axis, Drawing, DrawnEdge, DrawnNode, DrawnText, Run
from openmodelatlas.drawing.svg import svg

ROOT = Path(__file__).resolve().parent.parent
MODEL = "kimi-k2"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
LARGE = 2000
MOST_BOXES = 60
QUERIES = (
    "block output",
    "latent atention",
    "q_a_proj.weight",
    "hidden_states",
    "router scores",
    "rms_norm_eps",
    "softmax",
)


@dataclass(frozen=True)
class Figure:
    """One measurement: what, its value and unit, and the limit that it should keep to."""

    what: str
    value: float
    unit: str
    limit: float
    least: bool = False

    @property
    def kept(self) -> bool:
        """Whether the limit is kept (for ``least``, reached)."""
        return self.value >= self.limit if self.least else self.value <= self.limit

    def __str__(self) -> str:
        word = "at least" if self.least else "at most"
        return (
            f"{self.what:<58} {self.value:9.1f} {self.unit:<7} {word} {self.limit:g}{'' if self.kept else '   PASSED'}"
        )


@contextmanager
def serving(home: Path | None) -> Iterator[str]:
    """``oma serve`` on a free port."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", **({"OMA_HOME": str(home)} if home else {})}
    command = [sys.executable, "-m", "openmodelatlas", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found is not None, "the server did not say where it is"
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=10)


def first_view(browser: Any, site: str) -> Iterator[Figure]:
    """Bytes and time of the first page of a model, with nothing in the browser's cache."""
    address = f"{site}{MODEL}/"
    times, sizes = [], []
    for _ in range(5):
        context = browser.new_context()
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        kinds: dict[str, str] = {}
        received: dict[str, float] = {}
        session.on(
            "Network.responseReceived", lambda event, kinds=kinds: kinds.update({event["requestId"]: event["type"]})
        )
        session.on(
            "Network.loadingFinished",
            lambda event, received=received: received.update({event["requestId"]: event["encodedDataLength"]}),
        )
        started = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.locator("html.scripted").wait_for(state="attached")
        times.append(time.perf_counter() - started)
        page.wait_for_load_state("networkidle")
        sizes.append(sum(size for request, size in received.items() if kinds.get(request) != "Font"))
        context.close()
    yield Figure("first view of Kimi K2: transferred, fonts aside", max(sizes) / 1000, "kB", 150)
    yield Figure("first view of Kimi K2: until interactive", statistics.median(times) * 1000, "ms", 1000)


CHANGE = """address => new Promise(done => {
  const sign = document.querySelector(`figure.diagram g.node[data-address="${address}"] .opener`);
  const started = performance.now();
  sign.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true, detail: 1}));
  const look = () => document.querySelector('#level')?.dataset.level === address
    ? requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)))
    : requestAnimationFrame(look);
  look();
})"""


def level_changes(page: Any, site: str) -> Iterator[Figure]:
    """Time from the click on a box to the painted level, for levels up to 60 boxes, none of them fetched before."""
    times: list[float] = []
    waiting, seen = [""], set[str]()
    while waiting and len(times) < 40:
        level = waiting.pop(0)
        page.goto(f"{site}{MODEL}/{level}{'/' if level else ''}")
        page.locator("html.scripted").wait_for(state="attached")
        inside = page.evaluate("() => [...document.querySelectorAll('g.node[data-opens]')].map(e => e.dataset.address)")
        for address in dict.fromkeys(inside):
            if address in seen:
                continue
            seen.add(address)
            waiting.append(address)
            page.goto(f"{site}{MODEL}/{level}{'/' if level else ''}")
            page.locator("html.scripted").wait_for(state="attached")
            took = page.evaluate(CHANGE, address)
            if page.locator("g.node").count() <= MOST_BOXES:
                times.append(took)
    yield Figure(f"change of level, median of {len(times)} levels", statistics.median(times), "ms", 100)
    yield Figure("change of level, slowest", max(times), "ms", 1000)


LIGHT = """() => {
  const places = [...document.querySelectorAll('#content [data-light], #content g.node, #content g.edge')];
  const times = places.slice(0, 300).map(place => {
    const started = performance.now();
    place.dispatchEvent(new PointerEvent('pointerover', {bubbles: true, pointerType: 'mouse'}));
    document.body.getBoundingClientRect();  // styles and layout count
    for (const lit of document.querySelectorAll('.lit')) getComputedStyle(lit).backgroundColor;
    return performance.now() - started;
  });
  return times.slice(1);  // the first makes the map
}"""


def lights(page: Any, site: str) -> Iterator[Figure]:
    """Time from pointing at something to the styles of all that lights with it."""
    page.goto(f"{site}{MODEL}/layers/dense/self-attn/")
    page.locator("html.scripted").wait_for(state="attached")
    times = page.evaluate(LIGHT)
    yield Figure(f"light, slowest of {len(times)} places", max(times), "ms", 16)


def searches(page: Any, site: str) -> Iterator[Figure]:
    """Time of a key in search over all models, from the key to the changed list."""
    page.goto(f"{site}{MODEL}/")
    page.locator("html.scripted").wait_for(state="attached")
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.wait_for_function(
        "() => !document.querySelector('dialog .tally').textContent.includes('Loading')", timeout=60_000
    )
    times: list[float] = []
    for query in QUERIES:
        page.locator("dialog input").fill("")
        for end in range(1, len(query) + 1):
            times.append(
                page.evaluate(
                    """text => {
                      const field = document.querySelector('dialog input');
                      const started = performance.now();
                      field.value = text;
                      field.dispatchEvent(new Event('input', {bubbles: true}));
                      return Promise.resolve().then(() => Promise.resolve()).then(() => {
                        document.querySelector('dialog ul').getBoundingClientRect();
                        return performance.now() - started;
                      });
                    }""",
                    query[:end],
                )
            )
    models = page.evaluate("() => JSON.parse(document.getElementById('oma-page').textContent).models.length")
    times.sort()
    yield Figure(f"search over {models} models, median of {len(times)} keys", statistics.median(times), "ms", 30)
    yield Figure(f"search over {models} models, 95 of 100 keys", times[int(len(times) * 0.95)], "ms", 30)


def large_level(page: Any, site: str) -> Iterator[Figure]:
    """A level of 2,000 boxes in the place of a real one."""
    address = f"{site}{MODEL}/layers/dense/"
    html = page.request.get(address).text()
    drawn = svg(synthetic(LARGE), href=lambda place: f"{place}/index.html", inline=True)
    html = re.sub(r"<svg class=\"diagram\".*?</svg>", lambda _: drawn, html, count=1, flags=re.DOTALL)
    page.route(address, lambda route: route.fulfill(body=html, content_type="text/html; charset=utf-8"))
    page.goto("about:blank")
    page.goto(address)
    page.locator("html.scripted").wait_for(state="attached")
    paint = page.evaluate("() => performance.getEntriesByName('first-contentful-paint')[0].startTime")
    page.wait_for_timeout(1000)
    frames = page.evaluate(
        """() => new Promise(done => {
          const figure = document.querySelector('figure.diagram'), times = [];
          let last = performance.now(), step = 0;
          const frame = now => {
            times.push(now - last); last = now;
            figure.scrollTop += 60; figure.scrollLeft += (step % 40 < 20 ? 25 : -25);
            if (++step < 120) requestAnimationFrame(frame); else done(times.slice(2));
          };
          requestAnimationFrame(frame);
        })"""
    )
    lit = page.evaluate(LIGHT)
    page.unroute(address)
    yield Figure(f"level of {LARGE} boxes: first paint", paint, "ms", 1500)
    yield Figure(f"level of {LARGE} boxes: panning", 1000 / statistics.mean(frames), "frames/s", 30, least=True)
    yield Figure(f"level of {LARGE} boxes: light, slowest", max(lit), "ms", 16)


def synthetic(count: int) -> Drawing:
    """A grid of boxes, each joined to those below it."""
    columns = 20
    nodes = [_box(number, 40 + number % columns * 220, 40 + number // columns * 110) for number in range(count)]
    edges = []
    for number in range(count - columns):
        for other in {number + columns, min(number + columns + 1, count - 1)}:
            source, target = nodes[number], nodes[other]
            middle = (source.y + source.height + target.y) / 2
            start, end = source.x + source.width / 2, target.x + target.width / 2
            points = ((start, source.y + source.height), (start, middle), (end, middle), (end, target.y))
            edges.append(
                DrawnEdge(
                    tensor=f"{source.address}/output", source=source.id, target=target.id, name="x", points=points
                )
            )
    width, height = 80 + columns * 220, 80 + count / columns * 110
    return Drawing(width=width, height=height, nodes=tuple(nodes), edges=tuple(edges))


def _box(number: int, x: float, y: float) -> DrawnNode:
    def line(text: str, top: float, size: float, *, axes: tuple[Axis, ...] = ()) -> DrawnText:
        runs = (Run(text),) if not axes else (Run("["), Run("d", "math", 0, 0), Run("]"))
        return DrawnText(text=text, runs=runs, x=x, y=y + top, width=170, height=16, size=size, middle=True, axes=axes)

    axis = Axis(kind="symbolic", expression="hidden_size", symbol="d", name="hidden size", value=7168)
    return DrawnNode(
        id=str(number),
        address=f"layers/dense/synthetic-{number}",
        link=f"layers/dense/synthetic-{number}",
        x=x,
        y=y,
        width=170,
        height=60,
        family="attention",
        title=line(f"Synthetic box {number}", 10, 13),
        shape=line("[d]", 30, 12, axes=(axis,)),
        opens=number % 3 == 0,
    )


def exports(home: Path | None) -> Iterator[Figure]:
    """Seconds that the export of Kimi K2 and K3 takes."""
    environment = {**os.environ, **({"OMA_HOME": str(home)} if home else {})}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "openmodelatlas", "export", "-o", f"{folder}/site", "kimi-k2", "kimi-k3"]
        started = time.perf_counter()
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, cwd=ROOT
        )
        yield Figure("export of Kimi K2 and K3", time.perf_counter() - started, "s", 30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, help="folder of the atlases")
    parser.add_argument("--export", action="store_true", help="also time the export of Kimi K2 and K3")
    options = parser.parse_args()
    path = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if path is None:
        print("No Chromium is installed (on Debian: apt-get install chromium).", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    figures: list[Figure] = []
    with serving(options.home) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{site}{MODEL}/")  # the server opens the atlas once
        for measure in (level_changes, lights, searches, large_level):
            for figure in measure(page, site):
                print(figure, flush=True)
                figures.append(figure)
        for figure in first_view(browser, site):
            print(figure, flush=True)
            figures.append(figure)
        browser.close()
    if options.export:
        for figure in exports(options.home):
            print(figure, flush=True)
            figures.append(figure)
    return 0 if all(figure.kept for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
