"""The whole path in a browser: import, people, debate, votes, aspects, release."""

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.bench.server import ROOT, Assay

pytestmark = pytest.mark.e2e
DEMO = ROOT / "corpus" / "demo"


@pytest.fixture
def demo_zip(tmp_path: Path) -> Path:
    """The demo's folder as people would upload it."""
    packed = tmp_path / "garden-and-weather.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(DEMO.rglob("*.jsonl")):
            archive.write(file, file.relative_to(DEMO))
    return packed


def test_path_from_import_to_release(
    assay: Assay,
    demo_zip: Path,
    tmp_path: Path,
    visit: Callable[[], Page],
    sign_in: Callable[[str], Page],
) -> None:
    root = as_superuser(assay, visit())
    make_benchmark(root, "walk")
    import_file(root, demo_zip)
    links = {name: add_person(root, name) for name in ("walker-1", "walker-2", "walker-3")}

    counts = debate(root)
    assert counts == {"Agreed in round 1": 37, "Agreed in round 2": 17, "Disputed": 18}

    voters = [sign_in(link) for link in links.values()]
    judged = [vote_on_first(page, key) for page, key in zip(voters, "112", strict=True)]
    assert len(set(judged)) == 1, "all three judged the same case"
    see_majority(root)

    annotate(voters[0])

    # Their links were made by somebody else: what was decided counts once they call it theirs.
    theirs = "from kit.models import SignInLink; SignInLink.objects.update(is_theirs=True)"
    assay.manage("shell", "-v", "0", "-c", theirs)
    folder = build_release(root, tmp_path)
    aspects = pd.read_parquet(folder / "aspects" / "gardening.parquet")
    mine = aspects[aspects.id.str.startswith("gardening-2-")]
    assert list(mine.content) == ["Aluminium makes the blue.", "Acid soil frees aluminium."]
    assert list(mine.weight) == [5, 3]
    examples = pd.read_parquet(folder / "examples" / "gardening.parquet").set_index("id")
    assert set(examples.loc[2].gold_ids) == {pid for row in mine.supporting_docs for pid in row}
    # Whose case came first is drawn by chance: it may be of either domain.
    files = sorted((folder / "provenance").glob("*.jsonl"))
    labels = pd.concat(pd.read_json(file, lines=True) for file in files)
    assert (labels.source == "human").sum() == 1


def as_superuser(assay: Assay, page: Page) -> Page:
    """The first person, made by createsuperuser, signs in with a password."""
    assay.environment["DJANGO_SUPERUSER_PASSWORD"] = "an-odd-phrase-for-tests-91"
    assay.manage("createsuperuser", "--noinput", "--username", "root", "--email", "")
    page.goto("/")
    page.get_by_label("Username").fill("root")
    page.get_by_label("Password").fill("an-odd-phrase-for-tests-91")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="My work")).to_be_visible()
    return page


def follow(page: Page, link: Locator) -> None:
    """Click and wait for the next page with its scripts: keys pressed earlier would be lost."""
    with page.expect_navigation():
        link.click()


def open_page(page: Page, section: str, name: str) -> None:
    """By the bar: the section, then its page."""
    for bar, link in (("Sections", section), (section, name)):
        here = page.get_by_role("navigation", name=bar, exact=True)
        follow(page, here.get_by_role("link", name=link, exact=True))


def make_benchmark(page: Page, slug: str) -> None:
    page.get_by_role("link", name="New benchmark").click()
    page.get_by_label("Name", exact=True).fill("The walk")
    page.get_by_label("Short name").fill(slug)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Checks of labels")).to_be_visible()
    for each in page.get_by_role("checkbox").all():
        each.uncheck()
    page.get_by_role("button", name="Set the checks").click()
    expect(page.get_by_text("Import queries and passages to begin.")).to_be_visible()


def import_file(page: Page, file: Path) -> None:
    open_page(page, "Data", "Imports")
    page.get_by_label("Format").select_option("bright_pro")
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="What was imported")).to_be_visible()
    rows = page.get_by_role("region", name="Summary").get_by_role("row")
    summary = dict(row.split("\t")[:2] for row in rows.all_inner_texts()[1:])
    assert {kind: summary[kind] for kind in ("queries", "passages", "aspects")} == {
        "queries": "8",
        "passages": "92",
        "aspects": "8",
    }


def add_person(page: Page, name: str) -> str:
    """The new annotator's one-time link."""
    open_page(page, "Manage", "People")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Annotator").check()
    page.get_by_role("button", name="Add and make a link").click()
    return page.get_by_label("One-time sign-in link").input_value()


def debate(page: Page) -> dict[str, int]:
    """Start a run, watch it to its end, and read the legend of its bar."""
    open_page(page, "Agents", "Debate runs")
    with page.expect_navigation():
        page.keyboard.press("n")
    expect(page.get_by_role("heading", name="Forecast")).to_be_visible()
    page.get_by_label("Budget in USD").fill("5")
    expect(page.locator("#forecast")).to_contain_text("the budget of 5.00 $ should be enough")
    page.get_by_role("button", name="Start the run").click()
    expect(page.get_by_text("72 of 72 pairs")).to_be_visible(timeout=240_000)
    expect(page.locator("#live .tag.good").first).to_have_text("done")
    text = page.locator("#live .sheet").first.inner_text()
    names = ("Agreed in round 1", "Agreed in round 2", "Disputed")
    return {name: int(re.search(rf"{name}\s+(\d+)", text)[1]) for name in names}


def vote_on_first(page: Page, key: str) -> str:
    """Judge the first case by one key, read the positions, and keep the judgment by another; the
    next case follows without a page load."""
    page.goto("/b/walk/vote/")
    expect(page.get_by_text("1 of 18")).to_be_visible()
    expect(page.locator("mark")).to_have_count(0)
    address = page.url
    page.keyboard.press(key)
    expect(page.get_by_text("Your first judgment")).to_be_visible()
    expect(page.locator("mark").first).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_text("2 of 18")).to_be_visible()
    assert page.url != address
    return address


def see_majority(page: Page) -> None:
    open_page(page, "Annotate", "Disputes")
    page.get_by_label("Status").select_option("closed")
    expect(page.locator("#results tbody tr")).to_have_count(1)
    page.locator("#results tbody a").first.click()
    expect(page.get_by_text("voter 1", exact=False).first).to_be_visible()
    expect(page.get_by_text("voter 3", exact=False).first).to_be_visible()


def annotate(page: Page) -> None:
    """Two aspects with weights, every original decided, without the mouse."""
    page.goto("/b/walk/queries/")
    follow(page, page.get_by_role("link", name="gardening-2"))
    for number, (content, weight) in enumerate(
        [("Aluminium makes the blue.", "5"), ("Acid soil frees aluminium.", "3")], start=1
    ):
        page.keyboard.press("n")
        card = page.get_by_role("article", name=f"Aspect a{number}")
        expect(card.get_by_role("textbox", name=f"Aspect a{number}")).to_be_focused()
        page.keyboard.type(content)
        card.get_by_role("radio", name=re.compile(f"^{weight}:")).press("Space")
        expect(page.locator("[data-saved]").first).to_contain_text("Saved")
        page.keyboard.press("Escape")
    page.locator("#passages").focus()
    for left, keys in enumerate(("1", "1", "2", "2", "dt"), start=1):
        for key in keys:
            page.keyboard.press(key)
        expect(page.get_by_text(f"{left} of 5 decided")).to_be_visible()
    expect(
        page.get_by_text("Every original is decided and every aspect has a passage.")
    ).to_be_visible()
    page.reload()
    expect(page.get_by_role("textbox", name="Aspect a1")).to_have_value("Aluminium makes the blue.")


def build_release(page: Page, tmp_path: Path) -> Path:
    """Build a draft, see its faults, and unpack what is downloaded."""
    open_page(page, "Results", "Releases")
    page.get_by_role("button", name="Build the release").click()
    expect(page.get_by_role("heading", name="Known faults")).to_be_visible(timeout=240_000)
    expect(page.get_by_text(re.compile("practice", re.IGNORECASE)).first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all").click()
    data = Path(download.value.path()).read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(tmp_path)
        return tmp_path / archive.namelist()[0].split("/")[0]


def test_real_data_travels_from_command_to_release(
    assay: Assay, shared: Path, sign_in: Callable[[str], Page], tmp_path: Path
) -> None:
    """HotpotQA: 250 questions are imported, debated, seen and released; BRIGHT is imported."""
    assay.manage(
        "load_benchmark", str(shared / "hotpotqa"), "--format", "hotpotqa", "--benchmark", "hotpot",
        "--admin", "admin",
    )  # fmt: skip
    assay.manage(
        "load_benchmark", str(shared / "bright"), "--format", "bright", "--benchmark", "bright",
        "--admin", "admin",
    )  # fmt: skip
    page = sign_in(assay.link("admin"))
    page.goto("/b/bright/")
    expect(page.get_by_role("row", name=re.compile("biology"))).to_contain_text("103")
    expect(page.get_by_role("row", name=re.compile("biology"))).to_contain_text("without text")
    page.goto("/b/hotpot/debates/new/")
    page.get_by_role("button", name="Start the run").click()
    expect(page.locator("#live .tag.good").first).to_have_text("done", timeout=240_000)
    text = page.locator("#live .sheet").first.inner_text()
    names = (
        "Agreed in round 1",
        "Agreed in round 2",
        "Disputed",
        "Unreadable or failed",
        "Waiting",
    )
    counts = {
        name: int(re.search(rf"{name}\s+([\d,]+)", text)[1].replace(",", "")) for name in names
    }
    assert sum(counts.values()) == 2500
    assert min(counts["Agreed in round 1"], counts["Agreed in round 2"], counts["Disputed"]) > 0
    assert counts["Unreadable or failed"] == counts["Waiting"] == 0
    print(f"HotpotQA: {counts}")  # noqa: T201  (the measured outcome is reported)
    assay.manage("build_release", "hotpot", "--version", "0.1.0", "--out", str(tmp_path / "hotpot"))
    assert not (tmp_path / "hotpot" / "aspects").exists()
    examples = pd.read_parquet(tmp_path / "hotpot" / "examples" / "hotpotqa.parquet")
    assert len(examples) == 250
