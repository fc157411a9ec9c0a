"""BRIGHT and Bright-Pro: folders of queries, pages and passages, a file a domain.

docs/protocol.md 1.1, 1.2, 1.5, 3.2. BRIGHT's queries stand in `examples/` or `queries/`, or in one
file; passages in `documents/`, pages in `long_documents/`. Without them gold ids become passages
whose text is not loaded.

Bright-Pro is `{examples,aspects,documents}/{task}.{json,jsonl,parquet}`. Our additions: `pages/`
(the pages that passages were cut from), `pairs/` (pairs to debate), `machine_gold/` (passages that
machines tie to an aspect), a release's `beir/{task}/qrels/test.tsv` or `qrels/{task}.expert.txt`
(labels of 0, grades), and the optional query fields answers, community_answers and excluded_ids.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from corpus.importers.blocks import Layout
from corpus.importers.fields import (
    PID_LIMIT,
    QID_LIMIT,
    URL_LIMIT,
    Record,
    distinct_ids,
    excluded_ids,
)
from corpus.importers.files import (
    KINDS_OF_FILE,
    DataFile,
    Meter,
    data_files,
    folders_in,
    missing,
    qrels_files,
)
from corpus.importers.qrels import LABELS, read_pairs, read_qrels
from corpus.importers.reading import records
from corpus.importers.records import about, each_record, passage, query, read_passages
from corpus.importers.rows import (
    AspectRow,
    DocumentRow,
    JudgmentRow,
    Key,
    Location,
    MachineRow,
    Oddity,
    PairRow,
    Problem,
    Row,
)

# The gold ids of every query that was read, its excluded ids, and the place that named the gold.
Gold: TypeAlias = dict[Key, tuple[frozenset[str], frozenset[str], Location]]

QUERIES = ("examples", "queries")
# Folders of BRIGHT that hold no queries in other words.
KNOWN = {*QUERIES, "documents", "long_documents", "qrels"}
MACHINE = "machine_gold"
_PRO_FOLDERS = ("examples", "aspects", MACHINE, "pages", "documents", "pairs")
# Who may have given a label of support.
_SOURCES = ("debate", "llm_adjudicator", "human", "expert")
_TEXTS = ("gold_answer", "reasoning")
_PASSAGE = Layout(ids=("id",), texts=("content",), keeps_others=False)
_ORDINAL = re.compile(r"_\d+(\.[^./]+)?$")
_ASPECT_ID = re.compile(r"-(?:a|aspect-)(\d{1,4})$", re.ASCII)
SHARES = "shares"
# The highest weight of each scale, and of none.
_TOP_WEIGHTS = {"likert5": 5, "likert3": 3, "": 5}
_NUMBERED = re.compile(r"\[\s*(?:doc )?\s*doc_?([0-9]{1,6})\s*\]")
NOT_READ = "folders of other query sets, not read"


def read_bright(path: Path, meter: Meter, qrels: Path | None) -> Iterator[Row]:
    """Rows of a BRIGHT folder, of its folder of queries, or of one file of queries.

    `qrels` (a file named after its domain, or a folder of them) is the gold of its domains;
    elsewhere the rows' own gold_ids are.
    """
    files = query_files(path)
    pages = data_files(path / "long_documents", inside="long_documents/")
    passages = data_files(path / "documents", inside="documents/")
    if not files and not passages:
        requested = "a folder with examples/ or queries/, and documents/, or a file of queries"
        yield missing(path, f"{requested} ({KINDS_OF_FILE})")
        return
    golds: list[DataFile] = []
    if qrels:
        domains = {each.domain for each in files}
        golds = [each for each in qrels_files(qrels) if each.domain in domains]
        if not golds:
            yield _no_qrels(qrels, domains)
    meter.expect([*files, *pages, *passages, *golds])
    for folder in folders_in(path):
        if folder.name not in KNOWN and data_files(folder):
            yield Oddity(NOT_READ, folder.name)
    gold: Gold = {}
    judged = frozenset(each.domain for each in golds)
    yield from each_record(files, meter, partial(_query, gold=gold, judged=judged, texts=_TEXTS))
    excluded = {key: banned for key, (_, banned, _) in gold.items()}
    for file in golds:
        yield from read_qrels(file, meter, excluded)
    yield from _texts(pages, passages, meter)


def query_files(path: Path) -> list[DataFile]:
    """The files of queries that a path means."""
    for name in QUERIES:
        if (path / name).is_dir():
            return data_files(path / name, inside=f"{name}/")
    return data_files(path)


def _no_qrels(qrels: Path, domains: set[str]) -> Problem:
    """A folder may hold more domains than are loaded; a single file must be of one that is."""
    names = ", ".join(sorted(domains)) or "none"
    return Problem(
        Location(qrels.name),
        "No qrels of a domain in this load: a qrels file is named after its domain "
        f"(biology.txt). Domains here: {names}.",
    )


def read_bright_pro(path: Path, meter: Meter) -> Iterator[Row]:
    """Rows of a Bright-Pro folder; invariants of docs/protocol.md 3.2 are checked on the way."""
    parts = {name: data_files(path / name, inside=f"{name}/") for name in _PRO_FOLDERS}
    if not parts["examples"] and not parts["documents"]:
        requested = "a folder with examples/, aspects/ and documents/"
        yield missing(path, f"{requested} ({KINDS_OF_FILE})")
        return
    labels = [each for file in parts["examples"] if (each := _labels_of(path, file.domain))]
    meter.expect([*(file for files in parts.values() for file in files), *labels])
    gold: Gold = {}
    judged = frozenset(each.domain for each in labels)
    texts = (*_TEXTS, "reference_answer")
    read = partial(_query, gold=gold, judged=judged, texts=texts, is_pro=True)
    yield from each_record(parts["examples"], meter, read)
    for file in labels:
        yield from _labels(file, gold, meter)
    machine: list[MachineRow] = []
    yield from _machine_gold(parts[MACHINE], machine, meter)
    yield from _aspects(parts["aspects"], gold, machine, meter)
    yield from _texts(parts["pages"], parts["documents"], meter)
    yield from each_record(parts["pairs"], meter, _pair)


def _labels_of(path: Path, task: str) -> DataFile | None:
    """A release's labels of a task: of BEIR, whose ids may have blanks, else of TREC."""
    for name in (f"beir/{task}/qrels/test.tsv", f"qrels/{task}.expert.txt"):
        if (path / name).is_file():
            return DataFile(path / name, name, task)
    return None


def _labels(file: DataFile, gold: Gold, meter: Meter) -> Iterator[Row]:
    """Every label of the file; gold that it does not name has the label 1."""
    unnamed = {key: set(ids) for key, (ids, *_) in gold.items() if key[0] == file.domain}
    excluded = {key: gold[key][1] for key in unnamed}
    read = read_pairs if file.path.suffix == ".tsv" else read_qrels
    for row in read(file, meter, excluded, gold=""):
        own = unnamed.get((row.domain, row.qid), set()) if isinstance(row, JudgmentRow) else set()
        if isinstance(row, JudgmentRow) and row.pid in own:
            own.discard(row.pid)
            if row.label <= 0:
                words = f"{row.pid} is among the gold ids of the query, and not relevant here."
                yield Problem(row.location, words)
                continue
        yield replace(row, gold="") if isinstance(row, JudgmentRow) else row
    for (domain, qid), left in unnamed.items():
        location = gold[domain, qid][2]
        for pid in sorted(left):
            if pid in excluded[domain, qid]:
                words = f"{pid} is excluded and gold at once."
                yield Problem(location.at("excluded_ids"), words)
            else:
                yield JudgmentRow(domain, qid, pid, 1, location)


def _query(
    domain: str,
    record: Record,
    *,
    gold: Gold,
    texts: Sequence[str],
    judged: frozenset[str] = frozenset(),
    is_pro: bool = False,
) -> Iterator[Row]:
    """A query with its own gold, unless its domain's is `judged` elsewhere."""
    qid = record.ident("id", limit=QID_LIMIT)
    owner = f"{domain}-{qid}"
    ids, repeats = distinct_ids(record, "gold_ids", owner)
    banned, notes = excluded_ids(record, owner)
    location = record.location.at("gold_ids")
    gold[domain, qid] = frozenset(ids), frozenset(banned or ()), location
    own = () if domain in judged else ids
    for each in sorted(set(own).intersection(banned or ())):
        record.wrong("excluded_ids", f"{each} is excluded and gold at once.")
    values: dict[str, Any] = {"excluded_ids": banned}
    answer = record.data.get("reference_answer")
    if is_pro and isinstance(answer, str):
        record.data["reference_answer"] = _by_ids(answer, ids)
    if is_pro:
        values["community_answers"] = _community(record)
    yield from query(
        domain,
        qid,
        record,
        text="query",
        known=("id", "gold_ids"),
        texts=texts,
        lists=("answers", "gold_ids_long") if is_pro else ("gold_ids_long",),
        **values,
    )
    yield from [*repeats, *notes]
    yield from (JudgmentRow(domain, qid, pid, 1, location) for pid in own)


def _by_ids(answer: str, ids: Sequence[str]) -> str:
    """`[doc_3]` as the third of the row's own gold ids: gold here comes and goes."""

    def put(match: re.Match[str]) -> str:
        place = int(match[1])
        pid = ids[place - 1] if 1 <= place <= len(ids) else "["
        return match[0] if set(pid) & set("[]") else f"[{pid}]"

    return _NUMBERED.sub(put, answer)


def _community(record: Record) -> tuple[dict[str, Any], ...] | None:
    if not record.given("community_answers"):
        return None
    return tuple(
        {
            "text": each.text("text"),
            "url": each.maybe_text("url", limit=URL_LIMIT) or "",
            "score": each.whole("score") if each.given("score") else 0,
            "accepted": each.flag("accepted") if each.given("accepted") else False,
        }
        for each in record.items("community_answers")
    )


def _pair(task: str, record: Record) -> Iterator[Row]:
    qid = record.ident("query_id", limit=QID_LIMIT)
    yield PairRow(task, qid, record.ident("doc_id"), record.location)


def _texts(pages: list[DataFile], passages: list[DataFile], meter: Meter) -> Iterator[Row]:
    """Pages first, so that passages find the page they are cut from."""
    yield from each_record(pages, meter, _page)
    paged = {each.domain for each in pages}
    for file in passages:
        if file.domain not in paged:
            yield from read_passages(file, meter, _PASSAGE)
            continue
        for record in records(file, meter):
            pid = record.data.get("id") if isinstance(record, Record) else None
            page_id = page_of(pid) if isinstance(pid, str) else ""
            yield from passage(file.domain, record, _PASSAGE, page_id=page_id)


def _page(domain: str, record: Record) -> Iterator[Row]:
    yield DocumentRow(
        domain=domain,
        doc_id=record.ident("id"),
        text=record.text("content"),
        location=record.location.at("content"),
        **about(record),
    )


def page_of(pid: str) -> str:
    """Id of the page of a BRIGHT passage id: `{folder}/{page}_{n}.txt` without `_{n}`, or ""."""
    return _ORDINAL.sub(r"\1", pid) if _ORDINAL.search(pid) else ""


# Aspects and their invariants (docs/protocol.md 1.1, 3.2, 9)


def _aspects(
    files: Sequence[DataFile],
    gold: Gold,
    machine: Sequence[MachineRow],
    meter: Meter,
) -> Iterator[Row]:
    """Aspects by query and number, each with its machine gold; a query that has aspects must
    satisfy every invariant."""
    found: list[AspectRow] = []
    complete = True
    for row in each_record(files, meter, read_aspect):
        if isinstance(row, AspectRow):
            found.append(row)
        else:
            complete = complete and not isinstance(row, Problem)
            yield row
    guess = guessed_scale(found)
    # By number and not by spelling: a2 before a10.
    by_query: dict[Key, list[AspectRow]] = defaultdict(list)
    for each in sorted(found, key=lambda row: row.k):
        by_query[each.domain, each.qid].append(each)
    tied: dict[Key, list[MachineRow]] = defaultdict(list)
    for one in machine:
        tied[one.domain, one.qid].append(one)
    for key in sorted(tied.keys() - by_query.keys()):
        yield from _machine_faults(tied[key], ())
    for key, rows in by_query.items():
        yield from _machine_faults(tied.get(key, ()), rows)
        yield from _faults(key, rows, gold, complete=complete)
        for each in rows:
            own = tuple(one for one in tied.get(key, ()) if one.k == each.k)
            yield (placed := on_scale(replace(each, machine=own), guess))
            if not each.scale and isinstance(placed, AspectRow):
                name = f"{each.domain}-{each.qid}-a{each.k}"
                yield Oddity(f"weights read on the scale {guess}", name)


def guessed_scale(rows: Iterable[AspectRow]) -> str:
    """The scale of rows that do not say it, from all of a folder.

    Shares where any weight is one; else likert3 if none is above 3, else likert5.
    """
    found = {row.scale for row in rows}
    if SHARES in found:
        return SHARES
    return "likert3" if all(row.weight <= 3 for row in rows) else "likert5"


def on_scale(row: AspectRow, guess: str) -> AspectRow | Problem:
    """The row on its scale, or else on the guessed one; a 1 among shares is the whole."""
    if row.scale or guess != SHARES:
        return replace(row, scale=row.scale or guess)
    if row.weight == 1:
        return replace(row, weight=100, scale=SHARES)
    message = "Other weights here are shares, from .01 to 1, and this is none."
    return Problem(row.location.at("weight"), message)


def read_aspect(task: str, record: Record) -> Iterator[Row]:
    """The aspect of one record, by itself: rules that involve other aspects are not checked.

    Its scale is "" where the record does not say it.
    """
    written = record.ident("id")
    qid, k = _split_id(task, written, record)
    docs, repeats = distinct_ids(record, "supporting_docs", written)
    content = record.text("content")
    scale = record.maybe_text("scale") or ""
    if not record.problems and scale not in (*_TOP_WEIGHTS, SHARES):
        named = ", ".join([*filter(None, _TOP_WEIGHTS), SHARES])
        record.wrong("scale", f"The scale is one of {named}.")
    weight, scale = _weight(record, scale)
    subtopic = record.maybe_text("subtopic", limit=QID_LIMIT) or ""
    listed = tuple(dict.fromkeys(record.maybe_texts("subtopic_docs", limit=PID_LIMIT) or ()))
    judged = _judged(record)
    if (listed or judged) and not subtopic:
        record.wrong("subtopic", "Documents of a subtopic need its name.")
    of_it = (subtopic, listed, judged)
    yield AspectRow(task, qid, k, content, weight, docs, record.location, scale, *of_it)
    yield from (Oddity("supporting passages repeated in an aspect", r.example) for r in repeats)
    if not docs:
        yield Oddity("aspects without a supporting passage", written)


def _judged(record: Record) -> dict[str, int]:
    """Every label of the subtopic that an aspect is, by passage id."""
    ids = record.maybe_texts("subtopic_judged", limit=PID_LIMIT) or ()
    labels: Any = record.data.get("subtopic_labels") or ()
    is_whole = all(type(each) is int and each in LABELS for each in labels)
    if not is_whole or len(labels) != len(set(ids)) or len(ids) != len(labels):
        message = "A label is needed here for each of subtopic_judged, which are named once."
        record.wrong("subtopic_labels", message)
        return {}
    return dict(zip(ids, labels, strict=True))


def _machine_gold(
    files: Sequence[DataFile], found: list[MachineRow], meter: Meter
) -> Iterator[Problem]:
    """Problems of the files; `found` gets the passages that support an aspect, as machines or
    voters said."""
    for file in files:
        for record in records(file, meter):
            if isinstance(record, Problem):
                yield record
                continue
            row = _machine_row(file.domain, record)
            yield from record.problems
            if not record.problems:
                found.append(row)


def _machine_row(task: str, record: Record) -> MachineRow:
    qid, k = _split_id(task, record.ident("id"), record)
    source = record.text("source")
    if not record.problems and source not in _SOURCES:
        record.wrong("source", f"The source is one of {', '.join(_SOURCES)}.")
    number = record.whole("round") if record.given("round") else None
    models = record.maybe_texts("models") or ()
    return MachineRow(task, qid, k, record.ident("doc_id"), source, record.location, number, models)


def _machine_faults(tied: Sequence[MachineRow], rows: Sequence[AspectRow]) -> Iterator[Problem]:
    """One aspect a passage, and none that experts assigned to any."""
    known = {row.k for row in rows}
    aspect_of = {pid: row.k for row in rows for pid in row.supporting_docs}
    for one in tied:
        if one.k not in known:
            words = f"There is no aspect {one.k} of query {one.qid} in {one.domain}."
            yield Problem(one.location.at("id"), words)
        elif one.pid in aspect_of:
            words = f"{one.pid} already supports aspect {aspect_of[one.pid]}."
            yield Problem(one.location.at("doc_id"), words)
        aspect_of.setdefault(one.pid, one.k)


def _weight(record: Record, scale: str) -> tuple[int, str]:
    """The weight of a record with its scale, "" where neither says it; shares in hundredths.

    A fraction is a share. What is finer than hundredths is refused and not rounded.
    """
    given: Any = record.data.get("weight")
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if is_number and (scale == SHARES or (not scale and isinstance(given, float))):
        hundredths = round(given * 100) if 0 < given <= 1 else 0
        if not hundredths or abs(given * 100 - hundredths) > 1e-6:
            message = "A whole number from 1 to 5 or a share in hundredths is needed here"
            record.wrong("weight", f"{message}, not {given}.")
        return hundredths, SHARES
    # Beside shares a column of parquet holds whole numbers as floats.
    is_whole = isinstance(given, float) and given.is_integer()
    weight = int(given) if is_whole else record.whole("weight")
    top = _TOP_WEIGHTS.get(scale, 0)
    if not record.problems and not 1 <= weight <= top:
        record.wrong("weight", f"A weight from 1 to {top} is needed here, not {weight}.")
    return weight, scale


def _split_id(task: str, written: str, record: Record) -> tuple[str, int]:
    """`{task}-{qid}-a{k}`, or the older `{task}-{qid}-aspect-{k}`, as (qid, k)."""
    match = _ASPECT_ID.search(written)
    stem = written[: match.start()] if match else ""
    qid = stem.removeprefix(f"{task}-")
    if match is None or not qid or qid == stem:
        record.wrong("id", f"An aspect id looks like {task}-12-a1, not {written[:80]!r}.")
        return "", 0
    return qid, int(match.group(1))


def _faults(
    key: Key, rows: Sequence[AspectRow], gold: Gold, *, complete: bool
) -> Iterator[Problem]:
    if key not in gold:
        for row in rows:
            yield Problem(row.location.at("id"), f"There is no query {key[1]} in {key[0]}.")
        return
    ids, _, location = gold[key]
    for before, row in pairwise(rows):
        if before.k == row.k:
            yield Problem(row.location.at("id"), f"The query has two aspects numbered {row.k}.")
    aspect_of: dict[str, int] = {}
    for row in rows:
        where = row.location.at("supporting_docs")
        for pid in row.supporting_docs:
            if aspect_of.setdefault(pid, row.k) != row.k:
                yield Problem(where, f"{pid} already supports aspect {aspect_of[pid]}.")
            elif pid not in ids:
                yield Problem(where, f"{pid} is not among the gold ids of the query.")
    # Several aspects may list one of these: nobody has assigned it.
    listed = [(pid, row.location.at("subtopic_docs")) for row in rows for pid in row.subtopic_docs]
    for pid, where in listed:
        if pid in aspect_of or pid not in ids:
            yield Problem(where, f"{pid} supports an aspect, or is not among the gold ids.")
    # An aspect that could not be read may be the one that is missed here.
    for pid in sorted(ids - aspect_of.keys() - dict(listed).keys()) if complete else ():
        yield Problem(location, f"{pid} is gold but supports no aspect.")
