"""An expert's work without a mouse: three noisy pages collected, aspects split and merged, every
passage assigned anew; and axe on every state of these screens."""

import gzip
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.bench.server import Assay, running_assay
from tests.conftest import SHARED
from tests.e2e.conftest import LOOKS, misfits, use_link
from tests.local_site import Site, serving

pytestmark = pytest.mark.e2e

HOME = "/b/garden-weather"
QUERY = f"{HOME}/queries/3/"
PAGES = SHARED / "web-cleaning-dev" / "article-extraction" / "html"
SETTLED = "() => !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling')"


class Noisy(Site):
    """Serves the first pages of web-cleaning-dev as they were crawled."""

    def page_noisy(self, number: str) -> None:
        found = sorted(PAGES.iterdir())[int(number)]
        self.answer(gzip.decompress(found.read_bytes()), "text/html")


@pytest.fixture(scope="module")
def site() -> Iterator[int]:
    if not PAGES.is_dir():
        pytest.skip("../shared/data/web-cleaning-dev is absent")
    with serving(Noisy) as port:
        yield port


@pytest.fixture(scope="module")
def expert_assay(tmp_path_factory, site: int) -> Iterator[Assay]:
    """An Assay whose operator opened the noisy site to its experts."""
    data = tmp_path_factory.mktemp("expert")
    with running_assay(data, ASSAY_FETCH_ALSO=f"127.0.0.1:{site}") as running:
        yield running


@pytest.fixture(scope="module")
def state(browser: Browser, expert_assay: Assay) -> dict:
    """The signed-in session of an annotator."""
    context = browser.new_context(base_url=expert_assay.url)
    page = context.new_page()
    use_link(page, expert_assay.link("annotator-1"))
    kept = context.storage_state()
    context.close()
    return kept


@pytest.fixture(scope="module")
def walked(browser: Browser, expert_assay: Assay, state: dict, site: int) -> list[str]:
    """What the browser complained about during the whole walk, which is made with keys alone."""
    context = browser.new_context(base_url=expert_assay.url, storage_state=state, **LOOKS["light"])
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(QUERY)
    for number, text in enumerate(
        ("The drops lie on hairs and bend the light.", "Wax keeps a leaf dry."), start=1
    ):
        write_aspect(page, number, text)
    for number in range(3):
        collect(page, f"http://127.0.0.1:{site}/noisy?{number}", number + 1)
    split(page)
    merge(page)
    context.close()
    return complaints


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def go(page: Page, key: str) -> None:
    """Press a key that leads to another page, and wait for it with its scripts."""
    with page.expect_navigation():
        page.keyboard.press(key)
    page.wait_for_load_state("load")


def write_aspect(page: Page, number: int, text: str) -> None:
    press(page, "n")
    expect(page.get_by_role("textbox", name=f"Aspect a{number}")).to_be_focused()
    page.keyboard.type(text)
    press(page, "Escape")
    expect(page.locator("[data-saved]").first).to_contain_text("Saved")


def collect(page: Page, address: str, number: int) -> None:
    """Fetch a page, choose two sentences with the arrows, and let them support an aspect."""
    go(page, "c")
    press(page, "p")
    page.keyboard.type(address)
    go(page, "Control+Enter")
    expect(page.locator("#pages > article a")).to_have_count(number, timeout=240_000)
    page.evaluate("document.activeElement.blur()")
    go(page, "o")
    press(page, "t")
    text = page.locator("#page-text")
    expect(text).to_be_focused()
    press(page, "ArrowDown", "ArrowDown", "Shift+ArrowDown")
    expect(page.locator("#chosen")).to_contain_text("Chosen")
    press(page, str(1 if number < 3 else 2))
    expect(page.locator("#kept")).to_contain_text(f"extraction_{number}.txt supports a")
    go(page, "b")


def ask_and_answer(page: Page, *numbers: str) -> None:
    """Give each passage that asks, in its turn, the aspect with this number."""
    for left, number in reversed(list(enumerate(numbers))):
        opened = page.locator("article.passage.open")
        expect(opened).to_contain_text("is gone: choose its aspect")
        page.keyboard.press(number)
        expect(page.locator(".tag", has_text="is gone: choose its aspect")).to_have_count(left)
        page.wait_for_function(SETTLED)


def clear_originals(page: Page) -> None:
    """Discard the old gold that is still open, so that what asks comes next."""
    while page.locator("article.passage.open .tag", has_text="undecided").count():
        before = page.locator(".tag", has_text="undecided").count()
        press(page, "d", "t")
        expect(page.locator(".tag", has_text="undecided")).to_have_count(before - 1)
        page.wait_for_function(SETTLED)


def split(page: Page) -> None:
    clear_originals(page)
    press(page, "a")
    expect(page.locator("#aspect-list article").first).to_be_focused()
    go(page, "x")
    expect(page.get_by_label("First part", exact=True)).to_be_focused()
    page.keyboard.type("Drops lie on hairs, off the leaf.")
    press(page, "Tab", "Tab", "Tab")
    expect(page.get_by_label("Second part", exact=True)).to_be_focused()
    page.keyboard.type("A drop close to the leaf bends the light onto it.")
    press(page, "Tab", "Space")
    go(page, "Control+Enter")
    expect(page.get_by_text("a1 was split into a3, a4.", exact=True)).to_be_visible()
    press(page, "l")
    list_ = page.get_by_role("dialog", name="Before you submit")
    expect(list_.get_by_text("asks for a new aspect")).to_have_count(2)
    press(page, "Escape")
    ask_and_answer(page, "1", "2")


def merge(page: Page) -> None:
    press(page, "a", "a")
    go(page, "b")
    go(page, "c")
    words = page.get_by_label("The aspect that both become", exact=True)
    expect(words).to_be_focused()
    press(page, "Control+a")
    page.keyboard.type("Light is bent by drops, and wax keeps leaves dry.")
    press(page, "Tab", "Space")
    go(page, "Control+Enter")
    expect(page.get_by_text("were merged into a5.").first).to_be_visible()
    ask_and_answer(page, "2", "2")


def test_a_whole_query_without_a_mouse(walked: list[str], expert_assay: Assay) -> None:
    assert walked == []
    code = (
        "from annotate.models import *; q=3;"
        "print([(a.k, sorted(g.passage.pid for g in a.gold_passages.filter(ended_at=None)))"
        " for a in Aspect.objects.filter(query=q).present()]);"
        "print(list(AspectChange.objects.filter(query=q).values_list('kind', flat=True)))"
    )
    said = expert_assay.manage("shell", "-c", code)
    assert "extraction_1.txt" in said
    assert re.search(r"\[\(3, \['\S+extraction_\d\.txt'\]\), \(5, \[[^]]+, [^]]+\]\)\]", said)
    assert "['merge', 'split', 'add', 'add']" in said or "'merge', 'split'" in said


# -- axe ------------------------------------------------------------------------------------------


def test_axe_finds_nothing_on_any_state(
    browser: Browser,
    expert_assay: Assay,
    state: dict,
    walked: list[str],
    axe: Callable[..., list[str]],
) -> None:
    """Each state is come to once and then looked at in every window and all colours."""
    context = browser.new_context(
        base_url=expert_assay.url, storage_state=state, reduced_motion="reduce", **LOOKS["light"]
    )
    page = context.new_page()
    pk = expert_assay.manage(
        "shell",
        "-c",
        "from annotate.models import *; a=Aspect.objects.filter(query=3).present();"
        "p=GoldPassage.objects.standing().filter(query=3).first();"
        "from corpus.models import *; c=CollectedPage.objects.first();"
        "o=Judgment.objects.original().filter(query=4,label=1).first();"
        "print(a[0].pk, a[1].pk, p.passage_id, c.pk, o.passage_id)",
    ).split()[-5:]
    one, other, passage, collected, original = pk
    fresh = f"{HOME}/queries/4/"
    states = [
        (QUERY,), (QUERY, "l"), (QUERY, "g"), (QUERY, "?"), (fresh,), (fresh, "d"), (fresh, "p"),
        (fresh, "w"), (f"{QUERY}?passage={passage}",), (f"{QUERY}?find=leaf",),
        (f"{HOME}/aspects/{one}/split/",), (f"{HOME}/aspects/{one}/merge/",),
        (f"{HOME}/aspects/{one}/merge/?with={other}",), (f"{QUERY}scale/",),
        (f"{QUERY}scale/?to=likert5",), (f"{QUERY}history/",), (f"{fresh}history/",),
        (f"{QUERY}passages/{passage}/page/",), (f"{fresh}passages/{original}/page/", "e"),
        (f"{HOME}/audit/",), (f"{HOME}/audit/?problem=incomplete_gold",), (f"{QUERY}collect/",),
        (f"{QUERY}collect/", "t"), (f"{QUERY}collect/", "f"), (f"{fresh}collect/",),
        (f"{QUERY}collect/{collected}/",), (f"{QUERY}collect/{collected}/", "x"),
        (f"{QUERY}collect/{collected}/", "s"), (f"{QUERY}collect/{collected}/", "t", "ArrowDown"),
        (f"{QUERY}collect/{collected}/", "e"), (f"{HOME}/guidelines/",),
    ]  # fmt: skip
    faults = []
    for path, *keys in states:
        page.goto(path)
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_function(SETTLED)
        faults += [
            f"{path} {keys}: {fault}" for fault in misfits(page, axe, ("light", "dark", "narrow"))
        ]
    context.close()
    assert faults == []
