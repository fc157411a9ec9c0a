"""Numbered passages are a page where their texts show it, and the import says which are."""

import pytest

from corpus.cleaning.reading import page_names
from corpus.imports.paging import APART, REBUILT, SHARED
from corpus.marcus.following import GAPS, NOTHING_SHOWN, goes_on, why_apart
from corpus.models import CorpusVersion, Passage
from tests.corpus.import_files import imported, write_lines
from tests.factories import make_benchmark

CUT = ("Moths turn to lamps because they keep", "the sky above them. Light from", "below misleads.")
STORY = ("Moths fly. They", "They fly at night.", "Ponies eat grass.")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("so that they keep", "the light above them.", True),
        ("The last words of a piece are repeated.", "a piece are repeated. Then more.", True),
        ("It ends here.", "and this begins within.", False),
        ("It ends here.", "This is a sentence.", None),
        ("A heading", "This is a sentence.", None),
        ("", "this is all.", None),
    ],
)
def test_whether_a_text_goes_on_in_the_next(before, after, expected) -> None:
    assert goes_on(before, after) is expected


@pytest.mark.parametrize(
    ("numbers", "texts", "why"),
    [
        ((0, 1, 2), CUT, ""),
        ((1, 2, 3), CUT, ""),
        ((2, 3, 4), CUT, GAPS),
        ((0, 1, 3), CUT, GAPS),
        ((0, 1, 2), STORY, NOTHING_SHOWN),
    ],
)
def test_what_makes_a_page_of_numbered_pieces(numbers, texts, why) -> None:
    pieces = [(number, text, text) for number, text in zip(numbers, texts, strict=True)]
    assert why_apart(pieces[::-1]) == why


@pytest.mark.django_db
def test_the_import_says_what_was_rebuilt_and_why_not(tmp_path) -> None:
    def load(name: str, texts: dict[str, str]) -> dict[str, tuple[int, list[str]]]:
        rows = [{"id": pid, "content": text} for pid, text in texts.items()]
        write_lines(tmp_path / name / "documents" / "biology.jsonl", rows)
        run = imported(benchmark, tmp_path / name, "bright")
        assert (run.status, run.problems) == ("done", [])
        return {each["what"]: (each["count"], each["examples"]) for each in run.summary["oddities"]}

    def pages() -> set[str]:
        version = CorpusVersion.objects.loaded(benchmark)
        name = page_names(version)
        rows = Passage.objects.in_version(version).values_list("version_id", "pid")
        return {name(layer, pid, None) for layer, pid in rows}

    benchmark = make_benchmark("pages", domains=())
    moths = {f"light/Moth_{n}.txt": text for n, text in enumerate(CUT)}
    story = {f"light/Tale_{n}.txt": text for n, text in enumerate(STORY)}
    odd = load("a", moths | story | {"light/Late_0.txt": CUT[0], "light/Late_2.txt": CUT[2]})
    assert odd[REBUILT] == (1, ["light/Moth.txt"])
    assert odd[APART.format(NOTHING_SHOWN)] == (1, ["light/Tale.txt"])
    assert odd[APART.format(GAPS)] == (1, ["light/Late.txt"])
    assert pages() == {"light/Moth.txt", *story, "light/Late_0.txt", "light/Late_2.txt"}
    # What was missing comes later: now it is a page. Of what stayed as it was nothing is forgotten.
    load("b", {"light/Late_1.txt": CUT[1]})
    assert pages() == {"light/Moth.txt", *story, "light/Late.txt"}


@pytest.mark.django_db
@pytest.mark.parametrize("format", ["bright", "beir"])
def test_an_address_alone_makes_no_page_and_the_import_says_so(tmp_path, format) -> None:
    given = {
        "light/a.txt": "https://example.org/one",
        "light/b.txt": "https://example.org/one",
        "light/Moth_0.txt": "https://example.org/two",
        "light/Moth_1.txt": "https://example.org/two",
        "light/c.txt": "https://example.org/three",
        "light/d.txt": "",
    }
    texts = dict(zip(given, ("Ferns grow.", "Moths fly.", *CUT[:2], "Rain.", "Snow."), strict=True))
    if format == "bright":
        rows = [
            {"id": pid, "content": texts[pid], **({"source_url": url} if url else {})}
            for pid, url in given.items()
        ]
        write_lines(tmp_path / "documents" / "biology.jsonl", rows)
    else:
        rows = [
            {"_id": pid, "text": texts[pid], **({"source_url": url} if url else {})}
            for pid, url in given.items()
        ]
        write_lines(tmp_path / "biology" / "corpus.jsonl", rows)
        write_lines(tmp_path / "biology" / "queries.jsonl", [{"_id": "1", "text": "Why?"}])
    run = imported(make_benchmark("pages", domains=()), tmp_path, format)
    assert (run.status, run.problems) == ("done", [])
    odd = {each["what"]: (each["count"], each["examples"]) for each in run.summary["oddities"]}
    # Where ids number the pieces of a page, those of one page may share its address.
    numbered = format == "bright"
    addresses = ["https://example.org/one", *["https://example.org/two"] * (not numbered)]
    assert odd[SHARED] == (len(addresses), addresses)
    assert (REBUILT in odd) is numbered
