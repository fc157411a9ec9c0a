"""What keys do on the work screens, from every place that can have the focus.

First every key is pressed from every focusable element, with clicks caught before they act: a key
acts on what shows it, means one thing wherever the focus is, and nothing while somebody types.
Then each key is pressed for good, and what it sends or opens is compared with what its label says.
"""

import json
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, Route, expect

from annotate.models import EscalationCase, ReferenceAnswer
from tests.bench.server import Assay
from tests.e2e.test_markup import watched  # noqa: F401  (a fixture)
from tests.routes.world import address
from tests.test_routes import ROWS, made  # noqa: F401  (a fixture)
from tests.test_routes import world as everything  # noqa: F401  (a fixture)

pytestmark = pytest.mark.e2e

SET_UP = """
import json
from types import SimpleNamespace
from annotate.exams.services import start_attempt
from annotate.models import EscalationCase, ExamItem
from annotate.panels import services as panels
from annotate.review.services import score_weights, start_review
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from corpus.access import enter
from corpus.models import Passage
from corpus.benchmarks.services import add_person
from tests.annotate.panels.drawing import practise
from tests.annotate.world import TEXT, make_snapshot
from tests.factories import make_benchmark, make_gold, make_passage, make_pool, make_query

benchmark = make_benchmark("keys")
def person(name, *roles):
    return add_person(benchmark=benchmark, username=name, roles=list(roles), actor=None)[0].user
expert, author = person("key-expert", "annotator"), person("key-author", "annotator")
reviewer, admin = person("key-reviewer", "reviewer"), person("key-admin", "admin")

def written(qid, weights, by):
    query = make_query(benchmark, qid)
    passages = [make_passage(benchmark, f"{qid}/p{n}", text=TEXT) for n in (1, 2)]
    make_gold(query, passages[0])
    aspects = [
        add_aspect(query=query, actor=by, content=f"Point {n}.", weight=weight)
        for n, weight in enumerate(weights, 1)
    ]
    for aspect, passage in zip(aspects, passages):
        assign_passage(query=query, passage=passage, aspect=aspect, actor=by)
    return query, aspects

blind, _ = written("blind", (5, 2), author)
checked, aspects = written("checked", (5, 2), author)
open_, _ = written("open", (None, 3), expert)
make_gold(open_, make_passage(benchmark, "open/undecided", text=TEXT))
first = start_review(query=blind, reviewer=reviewer)
second = start_review(query=checked, reviewer=reviewer)
score_weights(review=second, actor=reviewer, weights={each.pk: 4 for each in aspects})
for n in range(3):
    passage = make_passage(benchmark, f"case/{n}", text=TEXT)
    EscalationCase.objects.create(
        origin=f"keys:{n}", query=open_, passage=passage, snapshot=make_snapshot()
    )
domain = benchmark.domains.get()
for n in range(5):
    ExamItem.objects.create(
        domain=domain, question=f"Practice {n}?", answers=["an answer"], passage=TEXT,
        label=n % 2, is_practice=True,
    )
attempt = start_attempt(person=expert, domain=domain, practice=True)
pairs = [(make_query(benchmark, f"pool{n}"), make_passage(benchmark, f"pool/{n}", text=TEXT))
         for n in range(3)]
make_pool(benchmark, *pairs)
panel = panels.draw_panel(
    benchmark=benchmark, actor=admin, name="experts", per_domain=3, shows_hints=False
)
panels.open_panel(panel=panel, access=enter(admin, "keys"))
practise(SimpleNamespace(benchmark=benchmark), panel, expert)
texts = Passage.objects.filter(domain__benchmark=benchmark)
named = {passage.pid: passage.pk for passage in texts}
cases = EscalationCase.objects.filter(query=open_)
cases = {case.passage.pid: str(case.public_id) for case in cases}
drawn = {f"a{n}": aspect.pk for n, aspect in enumerate(open_.aspects.order_by("pk"), 1)}
checks = {f"c{n}": aspect.pk for n, aspect in enumerate(aspects, 1)}
print(json.dumps({"ids": named | cases | drawn | checks, "paths": {
    "vote": "vote/", "workspace": f"queries/{open_.pk}/", "answer": f"queries/{checked.pk}/answer/",
    "blind": f"reviews/{first.pk}/", "review": f"reviews/{second.pk}/",
    "exam": f"qualification/sittings/{attempt.pk}/", "panel": f"panels/{panel.pk}/label/",
}}))
"""
PEOPLE = {"blind": "key-reviewer", "review": "key-reviewer"}  # on every other screen the expert
EVERY_KEY = [*string.ascii_lowercase, *string.digits, "/", "?", "[", "]"]
HERE = re.compile(r"^/b/\w+/")
TOOLS = Path(__file__).with_name("keys.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def world(assay: Assay) -> dict[str, Any]:
    """The address of each work screen, under the benchmark, and ids of what it shows."""
    return json.loads(assay.manage("shell", "-v", "0", "-c", SET_UP).splitlines()[-1])


def vote(page: Page, *, finally_: bool = True) -> None:
    """Judge a case by its passage alone, where that was not done yet; keep it, if asked to."""
    if page.get_by_text("From the passage alone").count():
        page.keyboard.press("1")
        page.get_by_text("Your first judgment").wait_for()
    if finally_:
        page.keyboard.press("k")
        page.get_by_text("From the passage alone").wait_for()


@pytest.fixture
def enter(
    browser: Browser, assay: Assay, session_of: Callable[[str], dict], world: dict[str, Any]
) -> Iterator[Callable[[str], Page]]:
    """A work screen in a window of its own, with the tools of this file."""
    contexts: list[BrowserContext] = []

    def screen(name: str) -> Page:
        state = session_of(PEOPLE.get(name, "key-expert"))
        size = {"width": 1280, "height": 900}
        contexts.append(browser.new_context(base_url=assay.url, storage_state=state, viewport=size))
        page = contexts[-1].new_page()
        page.goto(f"/b/keys/{world['paths'].get(name) or world['paths']['vote']}")
        page.wait_for_load_state("networkidle")
        if name in ("final", "voted"):
            vote(page, finally_=name == "voted")
        page.evaluate(TOOLS)
        return page

    yield screen
    for context in contexts:
        context.close()


# What a key changes, by its label: what is sent, or what opens or gets the focus.
OF_EVERY_SCREEN = {
    "g Guidelines": "GET guidelines/",
    "? Keys": "opens Keys on this page",
}
OF_LABELS = {
    "1 Relevant": "POST {here} label=1",
    "2 Not relevant": "POST {here} label=0",
    "3 Cannot be judged": "POST {here} label=abstain",
    "c Write a reason": "opens Write a reason",
}
CHANGES = {
    "vote": OF_LABELS | {"l Later": "GET vote/ after={pk}"},
    "final": OF_LABELS
    | {
        "k Keep “relevant”": "POST {here} label=1",
        "l Later": "GET vote/ after={pk}",
    },
    "voted": OF_LABELS
    | {
        "l Later": "GET vote/ after={pk}",
        "u Undo your vote on {voted} (biology-open)": "asks, POST vote/undo/ case={voted}",
    },
    "workspace": {
        "y Assign this query to you": "POST {here}claim/",
        "s Submit…": "GET {here}submit/",
        "k Previous passage": "GET {here} passage={open/p1}",
        "j Next passage": "GET {here} passage={open/p2}",
        "v Open its page: trim or cut again": "GET {here}passages/{open/undecided}/page/",
        "1 a1 Point 1.": "POST {here}passages/{open/undecided}/assign/ aspect={a1}",
        "2 a2 Point 2.": "POST {here}passages/{open/undecided}/assign/ aspect={a2}",
        "d Discard…": "opens Discard…",
        "p Problems…": "opens Problems…",
        "w Problems of the original gold": "opens Problems of the original gold",
        "c Collect from the web": "GET {here}collect/",
        "r Find passages for an aspect": "GET {here}beside/ aspect={a1}",
        "/ Attach another passage of biology": "focuses Attach another passage of biology",
        "a Go to the next aspect": "focuses Aspect a1",
        "h History": "GET {here}history/",
        "n New aspect": "POST {here}aspects/",
        "z Undo: a2 was added.": "POST {here}history/{last}/undo/",
        "[ Move this aspect up": "POST aspects/{a1}/move/ to=up",
        "] Move this aspect down": "POST aspects/{a1}/move/ to=down",
        "x Split this aspect": "GET aspects/{a1}/split/",
        "b Merge this aspect with another": "GET aspects/{a1}/merge/",
        "e Reference answer": "GET {here}answer/",
        "l Checklist": "opens Before you submit",
    },
    "blind": {"x Give this review up": "asks, POST {here}move/drop/"},
    "review": {
        "q Show the query": "opens Show the query",
        "1 Keep 5": "POST {here}weights/{c1}/ weight=5",
        "2 Change the weight": "opens Change the weight",
        "k Back": "focuses Weight of a1",
        "j Next": "focuses Passage checked/p1",
        "h Return to author": "POST {here}move/ask/",
    },
    "answer": {
        "b Back to the query": "GET queries/{pk}/",
        "1 Cite passage 1": "focuses Go to the answer",
        "2 Cite passage 2": "focuses Go to the answer",
        "h History": "GET {here}history/",
        "e Go to the answer": "focuses Go to the answer",
        "w Let a model write an answer": "POST {here}generate/",
    },
    "exam": {key: OF_LABELS[key] for key in ("1 Relevant", "2 Not relevant")},
    "panel": OF_LABELS | {"l Later": "GET panels/{pk}/label/ after={pk}"},
}


# Sent by themselves after a while, or said in every form.
BY_ITSELF = re.compile(r"/api/drafts/|/answer/check/$|/time/$")


def _told(request: Request) -> str:
    """`POST queries/3/claim/ name=value ...`, or "" for what no key asks for."""
    is_page = request.is_navigation_request() or "hx-request" in request.headers
    address = urlsplit(request.url)
    is_asked_anew = "hx-request" in request.headers and not address.query  # as long as it is open
    if (
        is_asked_anew
        and request.method == "GET"
        and request.headers["hx-current-url"].endswith(address.path)
    ):
        return ""
    if BY_ITSELF.search(address.path) or (request.method == "GET" and not is_page):
        return ""
    fields = [f"{name}={value}" for name, value in parse_qsl(request.post_data or address.query)]
    return " ".join([request.method, HERE.sub("", address.path), *fields])


class Keyboard:
    """Keys are pressed for good, but nothing they ask for reaches the server."""

    def __init__(self, page: Page) -> None:
        self.page, self.said = page, []
        page.on("request", lambda request: self.said.append(_told(request)))
        page.on("dialog", self._agree)
        page.route("**/*", self._keep)

    def press(self, key: str, *, sends: bool, card: str) -> str:
        """What the key changed, pressed while the focus is in its card or nowhere."""
        self.page.evaluate("card => tools.begin(card)", card)
        self.said.clear()
        if sends:
            with self.page.expect_request(lambda request: bool(_told(request))) as asked:
                self.page.keyboard.press(key)
            # A form that waits for an answer sends nothing else.
            asked.value.response()
            self.page.wait_for_function("() => !document.querySelector('.htmx-request')")
        else:
            self.page.keyboard.press(key)
        said = [each for each in self.said if each]
        return ", ".join(said or [self.page.evaluate("tools.changed()")])

    def _keep(self, route: Route) -> None:
        if _told(route.request):
            route.fulfill(status=204)
        else:
            route.fallback()

    def _agree(self, dialog: Dialog) -> None:
        self.said.append("asks")
        dialog.accept()


def is_meant(said: str, meant: str, ids: dict[str, int | str], here: str) -> bool:
    """Whether what a key did is what its label says; fields that `meant` does not name are free."""
    known = {"here": here} | {name: str(pk) for name, pk in ids.items()}
    meant = re.sub(r"\{(.+?)\}", lambda found: known.get(found[1], "#"), meant)
    if meant.startswith(("opens", "focuses")):
        return said.startswith(meant)
    pairs = zip(said.split(", "), meant.split(", "), strict=False)
    return said.count(", ") == meant.count(", ") and all(_holds(*each) for each in pairs)


def _holds(said: str, meant: str) -> bool:
    parts = [re.escape(part).replace(re.escape("#"), r"[\w-]+") for part in meant.split(" ")]
    given = said.split(" ")
    first = all(re.fullmatch(*each) for each in zip(parts[:2], given[:2], strict=False))
    return first and all(any(re.fullmatch(part, each) for each in given) for part in parts[2:])


def press_all(page: Page, changes: dict[str, str], ids: dict[str, int | str]) -> None:
    """Each key that the page offers does what its label says; `changes` names them all."""
    keyboard, here = Keyboard(page), HERE.sub("", urlsplit(page.url).path)
    page.evaluate("tools.fold('closed')")
    offered = {f"{key} {label}": card for key, label, card in page.evaluate("tools.offered()")}
    # Whose turn a case is, the server draws; the key that takes a vote back names it.
    voted = next(iter(re.findall(r"case/\d", " ".join(offered))), "")
    ids = ids | {"voted": ids.get(voted, 0)}
    # Which side a quote's agent stands on, too.
    changes |= {each: "focuses Show a quote" for each in offered if "Show a quote" in each}
    assert sorted(offered) == sorted(each.replace("{voted}", voted) for each in changes)
    for name, meant in changes.items():
        card = offered[name.replace("{voted}", voted)]
        said = keyboard.press(name[0], sends=bool(re.search("GET|POST", meant)), card=card)
        assert is_meant(said, meant, ids, here), f"{name} did {said}, not {meant}"


@pytest.mark.parametrize("screen", CHANGES)
def test_keys_of(enter, world, screen: str) -> None:
    page = enter(screen)
    faults = []
    for folds in ("as they are", "open"):
        page.evaluate("folds => tools.fold(folds)", folds)
        told = page.evaluate("keys => tools.everyKeyFromEverywhere(keys)", EVERY_KEY)
        assert told["reached"] >= 12
        assert told["presses"] == len(EVERY_KEY) * told["reached"]
        faults += told["faults"]
    assert faults == []
    press_all(page, OF_EVERY_SCREEN | CHANGES[screen], world["ids"])


# The same on pages over one of everything, each as somebody whom it offers most keys.
OF_A_PAGE = {
    ("home", "admin"): {
        "o Labels to look at": "GET panels/1/checks/",
        "l Labels to look at": "GET panels/1/checks/",
        "s Open questions to settle": "GET adjudication/",
        "n Add voters": "GET people/",
    },
    ("queries", "admin"): {"/ Search this list": "focuses Search this list"},
    ("debate-run", "admin"): {
        "p Pause": "POST {here}pause/",
        "l All pairs of this run": "GET {here}pairs/",
        "a Report": "GET {here}report/",
    },
    ("vote-item", "annotator"): OF_LABELS | {"l Later": "GET vote/batches/{pk}/"},
    ("adjudicate", "reviewer"): {
        "h Label history": "opens Label history",
        "c Write why": "focuses Write why",
        "1 Relevant": "POST {here} label=1",
        "2 Not relevant": "POST {here} label=0",
        "l Later": "GET adjudication/next/",
    },
    ("answer-grade", "annotator"): {"n Write a note": "focuses Write a note"},
    ("answer-rate", "reviewer"): {
        "a Answer one is better": "focuses Answer one is better",
        "b Answer two is better": "focuses Answer two is better",
        "n Neither is better": "focuses Neither is better",
    },
    ("sentence-judge", "annotator"): {
        "q Show query and answer": "opens Show query and answer",
        "s Go to the passage": "focuses Go to the passage",
        "1 Fully supported": "POST {here} verdict=2",
        "2 Partly supported": "POST {here} verdict=1",
        "3 Not supported": "POST {here} verdict=0",
    },
    ("candidate", "annotator"): {
        "1 Gold of a2": "POST {here} verdict=confirm",
        "2 Does not support it": "POST {here} verdict=refuse",
        "c Write why": "focuses Write why",
        "l Later": "GET candidates/",
    },
    ("collect", "annotator"): {
        "b Back to the query": "GET queries/{query}/",
        "o collected/a3e9598afcbb780b": "GET {here}{pk}/",
        "p Address of the page": "focuses Address of the page",
        "t Paste the text": "opens Paste the text",
        "f Upload a file": "opens Upload a file",
    },
    ("collect-page", "annotator"): {
        "t Go to the text": "focuses Go to the text",
        "b Back to the query": "GET queries/{query}/",
        "e Refine the text": "opens Refine the text",
    },
    ("passage-remake", "annotator"): {
        "b Back to the query": "GET queries/{query}/ passage={passage}",
        "e Trim the text by hand": "opens Trim the text by hand",
        "1 a1 One point.": "POST {here} aspect=1",
        "2 a2 Another point.": "POST {here} aspect={aspect}",
    },
    ("query-scale", "annotator"): {"b Back to the query": "GET queries/{query}/"},
    ("query-submit", "annotator"): {"b Back to the query": "GET queries/{query}/"},
    ("aspect-split", "annotator"): {"b Back to the query": "GET queries/{query}/"},
    ("aspect-merge", "annotator"): {
        "b Back to the query": "GET queries/{query}/",
        "a a1 One point.": "GET {here} with=1",
    },
    ("spot-check", "admin"): {
        "1 Relevant": "POST {here} label=1",
        "2 Not relevant": "POST {here} label=0",
        "c Write a reason": "opens Write a reason",
        "l Later": "GET panels/{pk}/checks/ after={undecided}",
    },
    ("rescoring", "reviewer"): {},
    ("cleaning-violation", "admin"): {
        "w The whole texts": "opens The whole texts",
        "l List": "GET cleaning/{cleaning}/violations/",
    },
}


# Routes of the screens of CHANGES; two of them also show an item by its own address.
DRIVEN = {"vote", "query", "answer", "review", "exam", "panel-label", "vote-case", "panel-item"}


@pytest.mark.django_db
def test_every_work_screen_has_a_row_of_its_keys(everything: SimpleNamespace) -> None:  # noqa: F811
    """A new one fails here; a new key of one that has a row, in press_all."""
    rows = DRIVEN | {name for name, _ in OF_A_PAGE}
    without: dict[str, set[str]] = {}
    for name, row in ROWS:
        if row.method != "get" or name.startswith("api-") or name in rows:
            continue
        for role in row.allowed:
            page = everything.clients[role].get(address(name, row, everything))
            body = "" if page.streaming else page.content.decode(errors="replace")
            keys = set(re.findall(r'data-key="(.)"', body)) - {"g", "?"}
            if 'class="top thin"' in body and keys:
                without[name] = keys
    assert without == {}


@pytest.fixture
def waiting(everything: SimpleNamespace) -> SimpleNamespace:  # noqa: F811
    """One of everything, a case that voters left undecided and two answers to rate."""
    case = EscalationCase.objects.get(pk=everything.undecided.case_id)
    case.pk, case.public_id, case.kind, case.origin = None, uuid4(), "dispute", "debate:2"
    case.save()
    everything.left_open = f"majority-{case.public_id}"
    answers = ReferenceAnswer.objects
    said = {"author": "model", "model": "m", "version": 1, "text": "So it is."}
    model = answers.create(query=everything.query, **said)
    everything.comparison.closed_at = None
    everything.comparison.save()
    everything.pair.human, everything.pair.model = everything.answer, model
    everything.pair.save()
    return everything


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "role"), OF_A_PAGE)
def test_keys_of_a_page(watched, waiting, name: str, role: str) -> None:  # noqa: F811
    page, pages = watched
    row = next(row for each, row in ROWS if each == name and row.method == "get")
    if name == "adjudicate":
        row = replace(row, kwargs={"name": waiting.left_open})
    pages.client = waiting.clients[role]
    page.goto(address(name, row, waiting))
    page.wait_for_function("() => !document.querySelector('.htmx-request')")
    page.evaluate(TOOLS)
    named = ("query", "passage", "aspect", "undecided", "cleaning")
    press_all(
        page,
        OF_EVERY_SCREEN | OF_A_PAGE[name, role],
        {each: getattr(waiting, each).pk for each in named},
    )


def test_digits_and_arrows_in_a_weight_set_that_weight(enter) -> None:
    page = enter("workspace")
    decided = page.get_by_text(re.compile(r"\d of \d decided")).inner_text()
    weight = page.locator(".weight").first
    for key, value in (("ArrowRight", "1"), ("3", "3"), ("9", "3"), ("ArrowRight", "4")):
        weight.locator(":checked, input").first.focus()
        if weight.locator(":checked").count():
            weight.locator(":checked").focus()
        page.keyboard.press(key)
        expect(weight.locator(":checked")).to_have_value(value)
    expect(page.locator("#saved")).to_have_attribute("data-state", "saved")
    page.reload()
    expect(weight.locator(":checked")).to_have_value("4")
    expect(page.get_by_text(decided)).to_be_visible()


def test_message_goes_with_esc_or_its_cause_and_covers_nothing(enter) -> None:
    page = enter("voted")
    page.on("dialog", lambda dialog: dialog.accept())
    page.set_viewport_size({"width": 600, "height": 420})
    page.mouse.wheel(0, 200)
    message = page.locator(".message.good")
    page.keyboard.press("u")
    expect(message).to_contain_text("was undone. Judge this case again.")
    heading = page.locator("main h1")
    expect(heading).to_be_focused()
    assert (
        message.bounding_box()["y"] + message.bounding_box()["height"]
        <= heading.bounding_box()["y"]
    )
    page.keyboard.press("Escape")
    expect(message).to_have_count(0)
    vote(page)
    page.keyboard.press("u")
    expect(message).to_be_visible()
    page.keyboard.press("1")
    expect(page.get_by_text("Your first judgment")).to_be_visible()
    expect(message).to_have_count(0)
