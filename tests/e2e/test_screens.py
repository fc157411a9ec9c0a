"""Every screen of the demo, by role: it answers, fits its window and keeps the browser quiet."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, Response, Route, expect

from tests.bench.server import Assay
from tests.e2e.conftest import LOOKS, TOO_WIDE, misfits, turn_to
from tests.e2e.shots import SHOTS, list_pictures, take_pictures

pytestmark = pytest.mark.e2e

HOME = "/b/garden-weather/"
OPEN_TO_ALL = ["/", "/account/", "/account/password/", "/account/second-factor/", HOME]
OPEN_TO_ALL += [f"{HOME}{name}/" for name in ("queries", "passages")]
OPEN_TO_ALL += [f"{HOME}{name}/" for name in ("documents", "judgments", "gold", "retrieval")]
OPEN_TO_ALL += [f"{HOME}passages/?q=leaf", f"{HOME}judgments/?counts=no", f"{HOME}reviews/"]
OPEN_TO_ALL += [f"{HOME}{name}/" for name in ("guidelines", "leaderboard", "audit")]
OPEN_TO_ALL += [f"{HOME}panels/"]
ONE_OF_EACH = [f"{HOME}queries/1/", f"{HOME}queries/2/", f"{HOME}passages/2/"]
# Named by an id drawn by chance: the first of the list.
DISPUTE = f"{HOME}disputes/first/"
REVIEW = [DISPUTE, *(f"{HOME}{name}/" for name in ("disputes", "debates", "debates/1", "holes"))]
REVIEW += [f"{HOME}agreement/", f"{HOME}agreement/votes/items/", f"{HOME}adjudication/"]
REVIEW += [f"{HOME}{name}/" for name in ("versions", "experiments", "pools")]
REVIEW += [f"{HOME}debates/1/pairs/", f"{HOME}debates/1/pairs/1/"]
SCREENS = {
    "annotator-1": [
        *OPEN_TO_ALL,
        *ONE_OF_EACH,
        *(
            f"{HOME}{name}"
            for name in ("vote/", "queries/?q=nowhere", "qualification/", "feedback/")
        ),
        *(f"{HOME}{name}/" for name in ("queue", "queries/2/submit", "queries/2/collect")),
    ],
    "reviewer": [*OPEN_TO_ALL, *ONE_OF_EACH, *REVIEW, f"{HOME}rescoring/"],
    "admin": [
        *OPEN_TO_ALL,
        *ONE_OF_EACH,
        *REVIEW,
        *(f"{HOME}{name}/" for name in ("vote", "debates/new", "import", "import/1", "people")),
        *(f"{HOME}{name}/" for name in ("people/1", "releases", "releases/1", "releases/2")),
        f"{HOME}rescoring/samples/",
        *(f"{HOME}qualification/{name}/" for name in ("rules", "bank")),
        *(f"{HOME}{name}/" for name in ("assignments", "progress", "voting", "cleaning/new")),
        *(f"{HOME}{name}/" for name in ("retrieval/compute", "pools/new", "prompts")),
        f"{HOME}panels/new/",
    ],
}
PHONE = LOOKS["phone"]["viewport"]
# What turns to other colours may fade into them.
FADED = "() => Promise.allSettled(document.getAnimations().map((each) => each.finished))"
# A page that waits for scores or a run leads elsewhere when they are there.
SETTLED = """() => !document.querySelector(
  '.htmx-request, [hx-trigger*="load delay"], [hx-trigger="every 2s"]')"""
# What a first view takes over the line, in kilobytes, and how many: the page, all that it names and
# the parts that come after it.
WEIGHT = """() => {
  const all = [...performance.getEntriesByType('navigation'),
               ...performance.getEntriesByType('resource')];
  return [all.length, all.reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000];
}"""
UNFOLD = "document.querySelectorAll('main details').forEach((each) => { each.open = true; })"
MOST_FILES, MOST_KB = 12, 60
INKS = """() => [getComputedStyle(document.body).color,
                 getComputedStyle(document.body).backgroundColor]"""


@dataclass
class Visitor:
    """A signed-in page and what its browser complained about."""

    page: Page
    complaints: list[str]

    def open(self, path: str) -> Response:
        """Go there and wait for the parts that are fetched after the page, and for its work."""
        answer = self.page.goto(path)
        assert answer is not None
        self.page.wait_for_function(SETTLED)
        return answer


@pytest.fixture
def enter(
    browser: Browser, assay: Assay, session_of: Callable[[str], dict]
) -> Iterator[Callable[..., Visitor]]:
    """A person of the demo at a window of some size and colours."""
    contexts = []

    def visitor(person: str, look: str) -> Visitor:
        state = session_of(person) if person else None
        context = browser.new_context(base_url=assay.url, storage_state=state, **LOOKS[look])
        contexts.append(context)
        found = Visitor(context.new_page(), [])
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on(
            "console", lambda said: said.type == "error" and found.complaints.append(said.text)
        )
        return found

    yield visitor
    for context in contexts:
        context.close()


@pytest.fixture(scope="module", autouse=True)
def finished_run(browser: Browser, assay: Assay, session_of: Callable[[str], dict]) -> None:
    """The demo's first debate run, scores and index are there: every screen has something to
    show, and none leaves while it is looked at."""
    context = browser.new_context(base_url=assay.url, storage_state=session_of("admin"))
    page = context.new_page()
    page.goto(f"{HOME}debates/1/")
    expect(page.get_by_text("72 of 72 pairs")).to_be_visible(timeout=240_000)
    for path in ("leaderboard/", "passages/?q=leaf"):
        page.goto(f"{HOME}{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        expect(page.locator("progress")).to_have_count(0, timeout=240_000)
    context.close()


def faults_of(
    pages: dict[str, list[str]], enter: Callable[..., Visitor], axe: Callable[..., list[str]]
) -> list[str]:
    """What is wrong with pages of the demo, each as a person sees it."""
    faults = []
    for person, paths in pages.items():
        visitor = enter(person, "light")
        for path in paths:
            assert visitor.open(f"{HOME}{path}").status == 200
            faults += [f"{path}, {fault}" for fault in misfits(visitor.page, axe)]
        assert visitor.complaints == []
    return faults


@pytest.mark.parametrize("person", SCREENS)
def test_screens_answer_fit_and_stay_quiet(enter, axe, person: str) -> None:
    """Each screen is opened once and then looked at in every window and all colours."""
    visitor = enter(person, "light")
    faults = []
    others = list(SCREENS)[: list(SCREENS).index(person)]
    shared = {path for other in others for path in SCREENS[other]}
    for path in SCREENS[person]:
        if path == DISPUTE:
            visitor.open(f"{HOME}disputes/")
            link = visitor.page.locator("#results tbody a").first
            path = link.get_attribute("href") or path
        if (status := visitor.open(path).status) != 200:
            faults.append(f"{path}: status {status}")
        if visitor.page.get_by_role("heading", level=1).count() == 0:
            faults.append(f"{path}: no heading")
        files, weight = visitor.page.evaluate(WEIGHT)
        if files > MOST_FILES or weight > MOST_KB:
            faults.append(f"{path}: {files} files, {weight:.0f} kB")
        if SHOTS:
            take_pictures(visitor.page, path, person.removesuffix("-1"))
        # What somebody else's screens show in other colours and windows is looked at there.
        weighed = ("light",) if path in shared else ("light", "dark", "phone")
        faults += [f"{path}, {fault}" for fault in misfits(visitor.page, axe, weighed)]
    if SHOTS:
        list_pictures()
    assert faults == []
    assert visitor.complaints == []


def test_page_of_the_api_is_light_fits_and_is_open_to_everybody(enter, axe) -> None:
    visitor = enter("admin", "light")
    visitor.open("/api/docs/")
    files, weight = visitor.page.evaluate(WEIGHT)
    assert files <= MOST_FILES
    assert weight <= MOST_KB
    if SHOTS:
        take_pictures(visitor.page, "/api/docs/", "admin")
    visitor.page.evaluate(UNFOLD)
    assert misfits(visitor.page, axe, ("light", "dark", "narrow")) == []
    # Swagger UI, which weighs more, comes by a click, here with an operation unfolded.
    visitor.page.get_by_role("link", name="Try requests of Debate runs").click()
    route = "POST /api/b/{slug}/debate-runs/"
    visitor.page.get_by_role("button", name=route, exact=True).click()
    expect(visitor.page.locator(".opblock.is-open .responses-table").first).to_be_visible()
    for look in ("light", "dark", "narrow"):
        turn_to(visitor.page, look)
        visitor.page.evaluate(FADED)
        assert visitor.page.evaluate(TOO_WIDE) <= 0, look
        assert axe(visitor.page) == [], look
    assert visitor.complaints == []


@pytest.mark.parametrize("look", LOOKS)
def test_screens_of_nobody_and_of_what_is_not_there(enter, look: str) -> None:
    stranger = enter("", look)
    assert stranger.open("/sign-in/").status == 200
    assert stranger.page.evaluate(TOO_WIDE) <= 0
    assert stranger.open("/sign-in/new-link/").status == 200
    assert stranger.page.evaluate(TOO_WIDE) <= 0
    assert stranger.complaints == []
    assert stranger.open("/sign-in/used-already/").status == 404
    expect(stranger.page.get_by_text("This link does not work any more")).to_be_visible()
    person = enter("annotator-1", look)
    assert person.open("/nowhere/").status == 404
    assert person.open(f"{HOME}people/").status == 403
    assert person.page.evaluate(TOO_WIDE) <= 0


def test_dark_and_light_turn_the_inks_round(enter) -> None:
    light, dark = (enter("annotator-1", look) for look in ("light", "dark"))
    shades = []
    for visitor in (light, dark):
        visitor.open(HOME)
        ink, paper = (sum(map(int, re.findall(r"\d+", c)[:3])) for c in visitor.page.evaluate(INKS))
        shades.append(ink < paper)
    assert shades == [True, False]


def test_current_tab_is_in_sight_on_a_phone(enter) -> None:
    visitor = enter("admin", "narrow")
    visitor.open(f"{HOME}releases/")
    expect(visitor.page.locator(".tabs [aria-current]")).to_be_in_viewport(ratio=0.9)


def test_keys_of_a_page_are_listed_by_question_mark(enter) -> None:
    visitor = enter("annotator-1", "light")
    visitor.open(f"{HOME}vote/")
    visitor.page.keyboard.press("?")
    keys = visitor.page.get_by_role("dialog", name="Keys on this page")
    expect(keys.locator("dt")).to_contain_text(["C", "1", "2", "3", "L", "?"])
    visitor.page.keyboard.press("Escape")
    expect(keys).to_be_hidden()


def test_slash_opens_the_palette_where_no_list_is_searched(enter) -> None:
    page = enter("annotator-1", "light").page
    page.goto(f"{HOME}vote/")
    palette = page.locator("#palette")
    page.keyboard.press("/")
    expect(palette.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("Escape")
    page.goto(f"{HOME}passages/")
    page.keyboard.press("/")
    expect(page.locator("#filter-q")).to_be_focused()
    expect(palette).to_be_hidden()


@pytest.mark.parametrize("look", ["light", "phone"])
def test_passage_is_on_the_first_screen_also_when_the_positions_appear(enter, look: str) -> None:
    page = enter("annotator-2", look).page
    page.set_viewport_size({"width": 1280, "height": 800} if look == "light" else PHONE)
    page.goto(f"{HOME}vote/")
    passage = page.locator("article .read")
    assert passage.bounding_box()["y"] < 400
    page.keyboard.press("1")
    expect(page.locator("[aria-label='The two positions'] .meta:focus")).to_contain_text("judgment")
    if look == "light":
        assert passage.bounding_box()["y"] < 400
    page.keyboard.press("k")


def test_what_a_page_waited_for_calls_nobody_back_who_leaves(enter) -> None:
    page = enter("admin", "light").page
    back = {"HX-Redirect": f"{HOME}people/"}
    page.route("**/waited-for/", lambda route: route.fulfill(status=200, headers=back))
    asks = "htmx.ajax('GET', '/waited-for/', {target: 'main', swap: 'none'})"
    page.goto(f"{HOME}leaderboard/")
    page.evaluate(asks)
    page.wait_for_url(f"**{HOME}people/")

    def keep_waiting(route: Route) -> None:
        page.wait_for_timeout(1_000)
        route.continue_()

    page.goto(f"{HOME}leaderboard/")
    page.route("**/agreement/", keep_waiting)
    page.evaluate(f"document.querySelector('a[href$=\"/agreement/\"]').click(); {asks}")
    page.wait_for_url(f"**{HOME}agreement/")


def test_paper_shows_whole_tables_and_nothing_to_press(enter) -> None:
    page = enter("admin", "light").page
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 less its margins
    page.emulate_media(media="print", color_scheme="dark")
    for name in ("leaderboard", "holes", "progress", "debates/1", "releases/2", "judgments"):
        page.goto(f"{HOME}{name}/")
        assert page.evaluate(TOO_WIDE) <= 0, name
        expect(page.locator("button:visible, .tabs:visible, .deck:visible")).to_have_count(0)
        assert page.evaluate(INKS)[0] == "rgb(0, 0, 0)"


def test_ctrl_enter_saves_an_aspect_and_escape_stays_at_it(enter) -> None:
    """Ctrl+Enter presses no button that the writer did not mean, such as the one that moves."""
    page = enter("annotator-1", "light").page
    page.goto(f"{HOME}queries/3/")
    for text in ("Drops do not focus the light.", "Hairs hold drops off the leaf."):
        page.keyboard.press("n")
        expect(page.locator("#aspect-list textarea:focus")).to_have_value("")
        page.keyboard.type(text)
        page.keyboard.press("Control+Enter")
        expect(page.locator("[data-saved]").first).to_contain_text("Saved")
        page.keyboard.press("Escape")
        expect(page.locator("article.aspect:focus")).to_contain_text("no passage yet")
    page.reload()
    written = [each.input_value() for each in page.locator("textarea[name=content]").all()]
    assert written == ["Drops do not focus the light.", "Hairs hold drops off the leaf."]


def test_conflict_shows_every_field_and_theirs_brings_them_all(enter) -> None:
    mine, theirs = (enter(person, "light").page for person in ("annotator-1", "annotator-2"))
    mine.goto(f"{HOME}queries/4/")
    mine.keyboard.press("n")
    expect(mine.locator("#aspect-list article")).to_have_count(1)
    theirs.goto(f"{HOME}queries/4/")
    # The weight of a field that is left is sent with it: both fields then differ.
    for page, words, weight in ((theirs, "Theirs.", "5"), (mine, "Mine.", "1")):
        page.locator("[name=weight]").nth(int(weight) - 1).evaluate("each => each.checked = true")
        page.locator("textarea[name=content]").fill(words)
        page.locator("textarea[name=content]").blur()
        expect(page.locator("[data-saved]").first).to_contain_text(re.compile("aved"))
    conflict = mine.locator(".conflict")
    expect(conflict.locator("[data-theirs]")).to_have_text(["Theirs.", "5"])
    conflict.get_by_role("button", name="Use theirs").click()
    expect(mine.locator("textarea[name=content]")).to_have_value("Theirs.")
    expect(mine.locator("[name=weight]:checked")).to_have_value("5")
    expect(mine.locator("[data-saved]").first).to_contain_text("Saved")
