"""`verify_release` on a release of which one row was altered, and the checksums made to fit."""

import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from evaluation.exporters.files import SUMS, write_jsonl, write_sums
from evaluation.exporters.votes import chained, voted_rows
from evaluation.verification.folder import verify
from tests.evaluation.conftest import make_garden
from tests.evaluation.releases.test_release_final import build, make_sound

# Every file that says of a pair how it is labelled.
LABELS = (
    "evidence/biology.jsonl",
    "provenance/biology.jsonl",
    "qrels/biology.base.txt",
    "qrels/biology.refined.txt",
    "qrels/biology.expert.txt",
    "qrels/biology.aspects.txt",
    "beir/biology/qrels/test.tsv",
    "bridge/biology.jsonl",
)
# A line with another label. BRIDGE lists ids: there one of them becomes another.
LAST = re.compile(r"[0-9]+$")
FLIPS = {
    ".txt": lambda line: LAST.sub(lambda n: "0" if n[0] != "0" else "1", line),
    ".tsv": lambda line: LAST.sub(lambda n: "0" if n[0] != "0" else "1", line),
    ".jsonl": lambda line: re.sub(
        r'("passage_id":"[^"]*","label":)([0-9]+)',
        lambda found: found[1] + ("0" if found[2] != "0" else "1"),
        re.sub(r'("doc_id":\[)"[^"]*"', r'\1"x9"', line),
    ),
}
WAYS = {
    "dropped": lambda lines, at, suffix: [*lines[:at], *lines[at + 1 :]],
    "twice": lambda lines, at, suffix: [*lines[: at + 1], *lines[at:]],
    "flipped": lambda lines, at, suffix: [*lines[:at], FLIPS[suffix](lines[at]), *lines[at + 1 :]],
    "unreadable": lambda lines, at, suffix: [*lines[:at], lines[at][:-2] + "?", *lines[at + 1 :]],
}


@pytest.fixture(scope="module")
def made(undone_database, tmp_path_factory) -> Path:
    """A final release whose labels come from the import, a debate, votes and an expert."""
    folder = tmp_path_factory.mktemp("made") / "r"
    build(make_sound(make_garden()), folder, final=True)
    assert verify(folder).differences == []
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """Its copy, to be altered."""
    return Path(shutil.copytree(made, tmp_path / "r"))


def rows_of(path: Path) -> Iterator[int]:
    lines = path.read_text().splitlines()
    # What was superseded stands in the provenance alone: nothing else speaks of it.
    yield from (
        n
        for n, line in enumerate(lines)
        if not line.startswith("query-id") and '"status":"superseded"' not in line
    )


@pytest.mark.few(6)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LABELS)
def test_each_altered_row_is_named_though_every_checksum_fits(folder, name, way) -> None:
    path, before = folder / name, (folder / name).read_text()
    lines = before.splitlines()
    tried = 0
    for at in rows_of(path):
        changed = WAYS[way](lines, at, path.suffix)
        if changed == lines:  # a query of BRIDGE without any passage
            continue
        tried += 1
        path.write_text("".join(f"{line}\n" for line in changed))
        write_sums(folder)
        found = verify(folder).differences
        named = re.findall(r'"(?:query_id|q_id)":"([^"]*)"', lines[at]) or lines[at].split()[:1]
        assert any(each.query == named[0] or f"line {at + 1} " in each.why for each in found), (
            lines[at],
            found,
        )
    assert tried


def test_another_ones_vote_under_ones_own_name_is_named(folder) -> None:
    path = folder / "evidence/biology.jsonl"
    votes = path.read_text().partition('"votes":[')[2]
    people = re.findall(r'"person":"(p-[0-9a-f]{12})"', votes)
    path.write_text(path.read_text().replace(people[0], people[1], 1))
    write_sums(folder)
    assert "one person voted twice" in {each.why for each in verify(folder).differences}


VOTE = re.compile(r'"person":"(p-[0-9a-f]{12})","label":([01])')


def flip_one(text: str) -> str:
    """Of the votes 0, 0, 1 the last becomes a 0: the majority stays."""
    return re.sub(r'("person":"p-[0-9a-f]{12}","label":)1', r"\g<1>0", text, count=1)


def swap_two(text: str) -> str:
    """The pseudonyms of two who voted otherwise, wherever they stand in the file."""
    found = {label: person for person, label in VOTE.findall(text)}
    parts = text.split(found["0"])
    return found["1"].join(part.replace(found["1"], found["0"]) for part in parts)


ALTERED = "its votes are not those that the chain of votes was made of"
UNSEEN = {
    "flipped": ("evidence/biology.jsonl", flip_one, ALTERED),
    "swapped": ("evidence/biology.jsonl", swap_two, ALTERED),
    "another head": (
        "evidence/biology.jsonl",
        lambda text: re.sub(r'"head":"[0-9a-f]{8}', '"head":"00000000', text),
        ALTERED,
    ),
    "another link": (
        "evidence/votes.jsonl",
        lambda text: re.sub(r'"link":"[0-9a-f]{8}', '"link":"00000000', text, count=1),
        ALTERED,
    ),
    "a link less": (
        "evidence/votes.jsonl",
        lambda text: text.partition("\n")[2],
        "the chain of votes leaves its votes out",
    ),
    "a link more": (
        "evidence/votes.jsonl",
        lambda text: text.replace('"b3"', '"b2"'),
        "the evidence has no votes on it",
    ),
}


@pytest.mark.parametrize("way", UNSEEN)
def test_votes_that_give_the_same_label_are_named_where_they_were_altered(folder, way) -> None:
    name, alter, why = UNSEEN[way]
    path = folder / name
    before = path.read_text()
    path.write_text(alter(before))
    assert path.read_text() != before
    write_sums(folder)
    found = verify(folder).differences
    assert why in {each.why for each in found}
    # Nothing else than the votes gives it away.
    about_votes = {ALTERED, "the chain of votes leaves its votes out"}
    assert {each.why for each in found} <= about_votes | {
        "the evidence has no votes on it",
        *(each.why for each in found if each.file == "README.md"),
    }


def test_without_its_chain_the_votes_are_not_taken(folder) -> None:
    (folder / "evidence/votes.jsonl").unlink()
    write_sums(folder)
    assert [str(each) for each in verify(folder).differences] == [
        "evidence/votes.jsonl: the file is not there"
    ]


def test_who_makes_the_whole_chain_anew_ends_it_otherwise(folder) -> None:
    """What a chain cannot show by itself: its end has to be known from elsewhere."""
    told, path = verify(folder).votes, folder / "evidence/biology.jsonl"
    path.write_text(flip_one(path.read_text()))
    rows = map(json.loads, path.read_text().splitlines())
    lines = chained(("biology", each) for row in rows for each in voted_rows(row))
    write_jsonl(folder / "evidence/votes.jsonl", lines)
    card = folder / "README.md"
    card.write_text(card.read_text().replace(told, lines[-1]["link"]))
    write_sums(folder)
    report = verify(folder)
    assert report.differences == []
    assert report.votes == lines[-1]["link"] != told


def test_a_file_that_no_checksum_speaks_of_is_named(folder) -> None:
    (folder / "qrels/biology.better.txt").write_text("7 0 b0 1\n")
    (folder / ".gitattributes").write_text("*.parquet filter=lfs\n")
    sums = folder / SUMS
    lines = sums.read_text().splitlines()
    sums.write_text("".join(f"{line}\n" for line in lines if "README" not in line))
    found = {(each.file, each.why) for each in verify(folder).differences}
    why = "the file has no checksum"
    assert found == {("qrels/biology.better.txt", why), ("README.md", why)}


def test_a_table_that_cannot_be_read_hides_no_other_difference(folder) -> None:
    (folder / "aspects/biology.parquet").write_bytes(b"PAR1")
    (folder / "LICENCE.md").unlink()
    shutil.copy(folder / "bridge/biology.jsonl", folder / "bridge/more.jsonl")
    told = io.StringIO()
    with pytest.raises(CommandError, match="differ"):
        call_command("verify_release", str(folder), stdout=told)
    for words in (
        "aspects/biology.parquet: its checksum is another",
        "biology: the files of this split cannot be read any further",
        "LICENCE.md: the file is not there",
        "bridge/more.jsonl: the file has no checksum",
    ):
        assert words in told.getvalue()
