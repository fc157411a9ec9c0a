"""TREC AutoJudge's files in and out: leaderboards and qrels of judges, aspects as nugget banks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from annotate.models import Aspect
from corpus.importers.files import DataFile, Meter
from corpus.importers.qrels import read_qrels
from corpus.importers.rows import JudgmentRow, Problem
from corpus.judgments.models import PEOPLE
from corpus.lists import is_key
from corpus.models import Benchmark, Judgment
from debate.models import DebateRun
from evaluation.content.reading import read_queries
from evaluation.content.view import frozen, view_of
from evaluation.judges.orders import compared, scores_of, topics_of
from evaluation.judges.protocol.autojudge import (
    SHAPES,
    BadFile,
    Nugget,
    read_leaderboard,
    read_nuggets,
    written_leaderboard,
    written_nuggets,
)
from kit.errors import Refused
from kit.lists.report_tables import Cell, ReportTable, measured, percent, text
from kit.stats.agreement import cohen_kappa
from kit.stats.proportions import proportion
from kit.stats.ratings import from_triples

LEADERBOARD, QRELS, NUGGETS = KINDS = ("leaderboard", "qrels", "nuggets")
MOST_BYTES: Final = 20_000_000
_MOST_NAMED: Final = 20


def written(benchmark: Benchmark, kind: str, *, judge: str = "", shape: str = "") -> Iterator[str]:
    """The lines of a file: a judge's leaderboard (by its name; the newest judge of agents), the
    labels of a debate run (by its number), or the aspects of all queries. Raises Refused."""
    if kind == NUGGETS:
        return _nugget_lines(benchmark)
    if kind == QRELS:
        return _qrel_lines(benchmark, judge)
    if kind != LEADERBOARD or (shape or "ir_measures") not in SHAPES:
        raise Refused(f"The files are {', '.join(KINDS)}; shapes {', '.join(SHAPES)}.")
    known = scores_of(benchmark)
    name = judge or next(iter(known), "")
    if name not in known:
        raise Refused("No such judge has judged an answer of an agent here.", field="judge")
    return written_leaderboard(known[name], shape or "ir_measures")


def _nugget_lines(benchmark: Benchmark) -> Iterator[str]:
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    titles, nuggets = dict[str, str](), list[Nugget]()
    with frozen():
        view = view_of(benchmark)
        # What was loaded says of nobody who made it.
        made = Aspect.objects.filter(query__domain__benchmark=benchmark, created_by__isnull=False)
        by_people = set(made.order_by().values_list("query", "k"))
        for domain in view.splits.values():
            for record in read_queries(view, domain, with_answers=False):
                topic = topics[record.pk]
                titles[topic] = record.text
                nuggets += [
                    Nugget(
                        topic,
                        each.content,
                        f"{topic}-a{each.k}",
                        each.weight,
                        each.supporting,
                        by_people=(record.pk, each.k) in by_people,
                    )
                    for each in record.aspects
                    if each.content.strip()
                ]
    return written_nuggets(nuggets, titles)


def _qrel_lines(benchmark: Benchmark, judge: str) -> Iterator[str]:
    # What agents say of an aspect, or once people were heard, is no label of the pair.
    runs = benchmark.debate_runs.filter(pool__of_aspects=False, reheard_of=None).order_by("-pk")
    run: DebateRun | None = runs.filter(pk=int(judge)).first() if is_key(judge) else runs.first()
    if run is None:
        raise Refused("There is no such debate run here.", field="judge")
    topics = {query: topic for topic, query in topics_of(benchmark).items()}
    rows = run.debates.filter(label__isnull=False).order_by("query", "passage__pid")
    for query, pid, label in rows.values_list("query", "passage__pid", "label").iterator():
        yield f"{topics[query]} 0 {pid} {label}"


def compared_file(
    benchmark: Benchmark, kind: str, lines: Sequence[str], *, shape: str = "", run: str = ""
) -> ReportTable:
    """What another judge's file comes to beside what is here; nothing of it is kept.

    Raises Refused with every line that cannot be read.
    """
    try:
        if kind == LEADERBOARD and (shape or "ir_measures") in SHAPES:
            scores = read_leaderboard(lines, shape or "ir_measures", run=run)
            return compared(scores, scores_of(benchmark))
        if kind == NUGGETS:
            return _nuggets_table(benchmark, read_nuggets(lines))
        if kind == QRELS:
            return _labels_table(benchmark, _read_labels(lines))
    except BadFile as fault:
        more = len(fault.faults) - _MOST_NAMED
        rest = [f"and {more:,} more"] if more > 0 else []
        raise Refused("\n".join([*fault.faults[:_MOST_NAMED], *rest])) from None
    raise Refused(f"The files are {', '.join(KINDS)}; shapes {', '.join(SHAPES)}.")


def _read_labels(lines: Sequence[str]) -> list[JudgmentRow]:
    """By the reader that imports qrels. Raises BadFile."""
    with NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        found = list(read_qrels(DataFile(Path(file.name), "qrels", ""), Meter()))
    faults = [str(each) for each in found if isinstance(each, Problem)]
    if faults:
        raise BadFile(faults)
    return [each for each in found if isinstance(each, JudgmentRow)]


def _labels_table(benchmark: Benchmark, rows: Sequence[JudgmentRow]) -> ReportTable:
    """Agreement with people's labels that stand."""
    topics = topics_of(benchmark)
    people = {
        (query, pid): label
        for query, pid, label in Judgment.objects.filter(query__in=topics.values())
        .standing()
        .filter(source__in=PEOPLE)
        .order_by("pk")
        .values_list("query", "passage__pid", "label")
    }
    pairs = [
        (int(people[at] > 0), int(row.label > 0))
        for row in rows
        if (at := (topics.get(row.qid, 0), row.pid)) in people
    ]
    triples = [(n, who, label) for n, both in enumerate(pairs) for who, label in enumerate(both)]
    kappa = cohen_kappa(from_triples(triples, categories=(0, 1)))
    same = proportion(sum(one == other for one, other in pairs), len(pairs))
    cells = (
        text("relevant or not"),
        Cell(len(rows)),
        Cell(len(pairs)),
        measured(kappa, "coefficient"),
        percent(same),
        text(kappa.reason),
    )
    header = ("labels", "in the file", "people judged", "κ", "the same", "why not")
    return ReportTable("qrels", "Labels from elsewhere beside people’s", header, (cells,))


def _nuggets_table(benchmark: Benchmark, nuggets: Sequence[Nugget]) -> ReportTable:
    """By topic: nuggets beside aspects, and how many of their documents are gold here."""
    topics = topics_of(benchmark)
    gold = set(
        Judgment.objects.filter(query__in=topics.values(), label__gt=0)
        .order_by()
        .values_list("query", "passage__pid")
    )
    aspects = Counter(
        Aspect.objects.filter(query__in=topics.values(), removed_at=None)
        .order_by()
        .values_list("query", flat=True)
    )
    rows = []
    for topic in dict.fromkeys(each.topic for each in nuggets):
        own, query = [each for each in nuggets if each.topic == topic], topics.get(topic)
        cited = {pid for each in own for pid in each.references}
        known = sum((query, pid) in gold for pid in cited) if query else 0
        rows.append(
            (
                text(topic if query else f"{topic} (no query here)"),
                Cell(len(own)),
                Cell(aspects[query] if query else None),
                percent(proportion(known, len(cited))),
                Cell(len(cited)),
            )
        )
    header = ("topic", "nuggets", "aspects here", "documents that are gold", "documents")
    return ReportTable("nuggets", "Nuggets from elsewhere beside aspects", header, tuple(rows))
