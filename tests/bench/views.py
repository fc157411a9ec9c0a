"""The first view of every page of the demo, by role, in a browser that knows nothing of it yet.

python -m tests.bench.views [--rounds 5] [--person admin]. Of the browser's own clock: what the
server took (from asking to the first byte), and what the browser took from the last byte of the
page until its document was ready, in milliseconds; beside them what came over the line.
"""

import argparse
import os
import re
import statistics
import tempfile
from pathlib import Path

import django

from tests.bench.server import Assay, running_assay

# The aims: DOM ready, kilobytes, requests.
READY, WEIGHT, FILES = 150, 60, 12
TIMES = """() => {
  const [page] = performance.getEntriesByType('navigation');
  const all = [page, ...performance.getEntriesByType('resource')
    .filter((each) => each.initiatorType !== 'xmlhttprequest')];
  return [page.responseStart - page.requestStart, page.domContentLoadedEventEnd - page.responseEnd,
          all.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000, all.length];
}"""


def main() -> None:
    """Print the table that docs/measurements.md quotes: the slowest pages, and all in a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--person", default="")
    wanted, _ = parser.parse_known_args()
    with (
        tempfile.TemporaryDirectory(prefix="assay-bench-") as folder,
        running_assay(Path(folder)) as assay,
    ):
        report(measure(assay, wanted.rounds, wanted.person))


def measure(assay: Assay, rounds: int, only: str) -> dict[tuple[str, str], list[list[float]]]:
    """The four numbers of every round, by person and path."""
    from playwright.sync_api import sync_playwright

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("SECRET_KEY", "bench-" * 9)
    django.setup()
    from tests.e2e.conftest import chromium
    from tests.e2e.test_screens import DISPUTE, HOME, SCREENS

    found: dict[tuple[str, str], list[list[float]]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**chromium())
        # The admin first, who waits until the demo's runs are over: nobody is measured beside them.
        for person, paths in reversed(SCREENS.items()):
            if only not in ("", person):
                continue
            context = browser.new_context(base_url=assay.url)
            page = context.new_page()
            page.goto(assay.link(person))
            page.get_by_role("button", name="Sign in").click()
            page.get_by_text("You are signed in as").wait_for()
            if person == "admin":
                page.goto(f"{HOME}debates/1/")
                page.get_by_text("72 of 72 pairs").wait_for(timeout=120_000)
            known = context.storage_state()
            for path in paths:
                if path == DISPUTE:
                    page.goto(f"{HOME}disputes/")
                    path = page.locator("#results tbody a").first.get_attribute("href") or path
                for _ in range(rounds):
                    fresh = browser.new_context(base_url=assay.url, storage_state=known)
                    view = fresh.new_page()
                    view.goto(path)
                    found.setdefault((person, path), []).append(view.evaluate(TIMES))
                    fresh.close()
            context.close()
        browser.close()
    return found


def report(found: dict[tuple[str, str], list[list[float]]]) -> None:
    """The twelve slowest pages by what they take on the whole, then what holds for all."""
    rows = []
    for (person, path), times in found.items():
        server, ready, weight, files = zip(*times, strict=True)
        short = re.sub(r"[0-9a-f-]{36}", "...", path)
        rows.append(
            (min(server) + min(ready), person, short, server, ready, max(weight), max(files))
        )
    rows.sort(reverse=True)
    print("| who, page | server: least, median | DOM ready: least, median | kB | requests |")
    print("| --- | --- | --- | --- | --- |")
    for _, person, path, server, ready, weight, files in rows[:12]:
        numbers = " | ".join(
            f"{min(each):.0f}, {statistics.median(each):.0f}" for each in (server, ready)
        )
        print(f"| {person}, `{path}` | {numbers} | {weight:.0f} | {files:.0f} |")
    slowest = max(min(row[4]) for row in rows)
    print(f"{len(rows)} pages; DOM ready (least) {slowest:.0f} ms at most, aim {READY};")
    print(f"server (least) {max(min(row[3]) for row in rows):.0f} ms at most;")
    print(f"{max(row[5] for row in rows):.1f} kB at most, aim {WEIGHT};")
    print(f"{max(row[6] for row in rows):.0f} requests at most, aim {FILES}")


if __name__ == "__main__":
    main()
