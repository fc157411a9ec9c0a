"""Votes by keyboard alone: two keys each, a hundred in a row, and a batch that is rejected."""

import json
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.bench.server import Assay

pytestmark = pytest.mark.e2e

MAKE = """
from annotate.models import EscalationCase, VotingPlan
from corpus.models import Benchmark, Domain
from corpus.benchmarks.services import add_person
from tests.annotate.world import TEXT, make_snapshot
from tests.factories import make_benchmark, make_gold, make_passage, make_query
benchmark = make_benchmark("{slug}")
add_person(benchmark=benchmark, username="{person}", roles=["annotator"], actor=None)
for n in range({cases}):
    query = make_query(benchmark, f"q{{n}}")
    passage = make_passage(benchmark, f"p{{n}}", text=TEXT)
    EscalationCase.objects.create(
        origin=f"{slug}:{{n}}", query=query, passage=passage, snapshot=make_snapshot()
    )
for n in range(4):
    make_gold(make_query(benchmark, f"g{{n}}"), make_passage(benchmark, f"g{{n}}", text=TEXT))
if {batch}:
    VotingPlan.objects.create(benchmark=benchmark, version=1, batch_size={batch}, reveal="none")
"""
ASK = """
import json
from annotate.models import BatchItem, Vote
print(json.dumps({
    "votes": Vote.objects.standing().filter(voter__username="%s").count(),
    "expected": list(BatchItem.objects.filter(batch__voter__username="%s", batch__status="open")
        .exclude(check_item=None).values_list("check_item__expected", flat=True)),
}))
"""


def told(assay: Assay, person: str) -> dict:
    return json.loads(
        assay.manage("shell", "-v", "0", "-c", ASK % (person, person)).splitlines()[-1]
    )


def test_a_hundred_votes_in_a_row_without_a_mouse(
    assay: Assay, sign_in: Callable[[str], Page]
) -> None:
    code = MAKE.format(slug="hundred", person="steady", cases=100, batch=0)
    assay.manage("shell", "-v", "0", "-c", code)
    page = sign_in(assay.link("steady"))
    page.goto("/b/hundred/vote/")
    for n in range(100):
        here = page.url
        # Two keys: a first judgment, and keeping it.
        page.keyboard.press("12"[n % 2])
        expect(page.get_by_text("Your first judgment")).to_be_visible()
        page.keyboard.press("k")
        page.wait_for_url(lambda url, here=here: url != here)
        if n < 99:
            expect(page.locator("#vote-progress progress")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing waits for your vote")).to_be_visible()
    assert told(assay, "steady")["votes"] == 100


def test_batch_with_a_failed_check_is_rejected(
    assay: Assay, sign_in: Callable[[str], Page]
) -> None:
    code = MAKE.format(slug="batched", person="hasty", cases=8, batch=5)
    assay.manage("shell", "-v", "0", "-c", code)
    page = sign_in(assay.link("hasty"))
    page.goto("/b/batched/vote/")
    page.keyboard.press("t")
    expect(page.get_by_text("1 of 5").first).to_be_visible()
    (expected,) = told(assay, "hasty")["expected"]
    for n in range(5):
        # The wrong answer to the check, whichever item it is.
        page.keyboard.press("2" if expected else "1")
        if n < 4:
            expect(page.get_by_text(f"{n + 2} of 5").first).to_be_visible()
    expect(page.get_by_role("heading", name="All 5 items are judged")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Your batch was not accepted")).to_be_visible()
    assert told(assay, "hasty") == {"votes": 0, "expected": []}
