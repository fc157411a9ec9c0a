"""The pictures of docs/chain.md, taken from the demo after a whole chain that people took part in.

python -m tests.e2e.pictures [docs/pictures]. Needs Chromium, as `make e2e` does.
"""

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import django
from playwright.sync_api import Page, sync_playwright

from tests.bench.server import ROOT, Assay, running_assay

SLUG = "garden-weather"
PLAN = """
[[step]]
do = "clean"

[[step]]
do = "systems"
systems = [{ method = "bm25", name = "BM25" }, { method = "tfidf", name = "TF-IDF" }]

[[step]]
do = "pool"
depth = 5

[[step]]
do = "debate"
budget_usd = 2

[[step]]
do = "people"

[[step]]
do = "holes"

[[step]]
do = "agents"
rounds = 3
budget_usd = 5

[[step]]
do = "judge"

[[step]]
do = "answers"
k = 5
budget_usd = 1

[[step]]
do = "grade"

[[step]]
do = "release"
version = "0.1.0"
"""
VOTES = f"""
from corpus.models import Benchmark
from tests.evaluation.chain.cranfield import vote_on_all
print(vote_on_all(Benchmark.objects.get(slug="{SLUG}"), tuple(f"annotator-{{n}}" for n in "123")))
"""
MOST_KB = 90


def main() -> None:
    """Take every picture; raises where one is larger than what docs are to hold."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "pictures")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-pictures-") as data:
        os.environ |= {"ASSAY_DATA": data, "SECRET_KEY": "pictures-" * 6}
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        django.setup()
        e2e = import_module("tests.e2e.conftest")
        with running_assay(Path(data), workers=1) as assay, sync_playwright() as playwright:
            e2e.wait_for_runs(Path(data) / "assay.sqlite3", 900)
            browser = playwright.chromium.launch(**e2e.chromium())
            page = browser.new_context(base_url=assay.url, **e2e.LOOKS["light"]).new_page()
            e2e.use_link(page, assay.link("admin"))
            take_all(assay, page, Path(data), folder)
            browser.close()
    sizes = {each.name: each.stat().st_size / 1000 for each in folder.glob("*.png")}
    assert all(size < MOST_KB for size in sizes.values()), sizes


def take_all(assay: Assay, page: Page, data: Path, folder: Path) -> None:
    """The plan with its forecast, the chain before people, and what each step did."""
    here = f"/b/{SLUG}/"
    plan = data / "plan.toml"
    plan.write_text(PLAN, encoding="utf-8")
    shown(page, f"{here}chains/new/", "#forecast", folder / "chain-forecast.png")
    assay.manage("chain", SLUG, str(plan), "--name", "From pages to a release")
    page.goto(f"{here}chains/")
    page.get_by_role("link", name="From pages to a release").click()
    address = page.url
    shown(page, address, "section[aria-label=Steps]", folder / "chain-waits.png")
    assay.manage("shell", "--command", VOTES)
    # The worker goes on by itself.
    import_module("tests.e2e.conftest").wait_for_runs(data / "assay.sqlite3", 900)
    shown(page, address, "main figure", folder / "chain-effects.png")
    shown(page, f"{here}holes/", "main figure", folder / "holes.png")


def shown(page: Page, address: str, part: str, to: Path) -> None:
    """A picture of the first such part of a page; one that waits asks anew as long as it is open,
    so nothing is waited for but the part itself."""
    page.goto(address)
    whole_page = import_module("tests.e2e.shots").WHOLE_PAGE
    page.locator(part).first.screenshot(path=to, style=whole_page)


if __name__ == "__main__":
    main()
