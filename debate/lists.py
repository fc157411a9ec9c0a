"""The list of a run's pairs: what it searches, filters and sorts by, for screens, files and API."""

from collections.abc import Mapping
from dataclasses import replace

from django.db.models import Exists, OuterRef, QuerySet

from corpus.access import Access
from corpus.lists import domain_choices, is_key
from corpus.models import Query
from corpus.texts.finding import MOST_FOUND, begins_with, one_of, passages_named
from debate.dream import MAX_ROUNDS
from debate.list_filters import (
    ALIKE,
    CASES,
    HEARD,
    WEIGHTS,
    alike_of,
    effect_choices,
    effect_of,
    heard,
    lasting,
    lasting_choices,
    open_after,
    vote_choices,
    with_case,
    with_votes,
    with_weight,
)
from debate.models import Debate, DebateFlag, DebateRun, DebateStatus
from debate.services.audits import audited_debates
from debate.services.figures import BROKEN_STATUSES, FAILURE_CLASS, failure_classes
from debate.services.references import reference_called
from kit.table_pages import Choices
from kit.tables import MOST_WORDS, Column, Filter, Table
from kit.templatetags.assay import in_words

BROKEN, LATER = "broken", "later"
OUTCOMES = [(each, in_words(each).capitalize()) for each in DebateStatus.values]
OUTCOMES += [(BROKEN, "Unreadable, refused or failed")]
ROUNDS = [(str(n), f"round {n}") for n in range(1, MAX_ROUNDS + 1)] + [(LATER, "after the first")]
OPEN = [(str(n), f"after round {n}") for n in range(1, MAX_ROUNDS + 1)]
LABELS = (("1", "relevant"), ("0", "not relevant"), ("any", "labelled at all"))
FLAGS = {
    "quote_not_found": "A quote is not in the passage",
    "long_reason": "A reason of more than 100 words",
    "self_contradicting": "An answer contradicts its reason",
    "no_quote": "A yes without a quote",
    "no_reason": "No reason given",
    "repaired": "Read at the second asking",
    "unreadable": "An answer could not be read",
    "failed": "A call failed",
    "other_model": "Another model answered: the first would not",
    "cut_reason": "A reason longer than is shown",
    "many_quotes": "More quotes than are kept",
    "cut_quote": "A quote longer than is shown",
}


def _with_outcome(debates: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    if value == BROKEN:
        return debates.filter(status__in=BROKEN_STATUSES)
    return debates.filter(status=value)


def _in_round(debates: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    return debates.filter(round__gt=1) if value == LATER else debates.filter(round=int(value))


def _with_label(debates: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    return debates.exclude(label=None) if value == "any" else debates.filter(label=int(value))


def _of_domain(debates: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    return debates.filter(query__domain__name=value)


DEBATES = Table(
    search=("query__text", "query__qid", "passage__pid"),
    filters=(
        Filter("status", "Outcome", choices=OUTCOMES, apply=_with_outcome),
        Filter("round", "Round", choices=ROUNDS, apply=_in_round),
        Filter("label", "Label", choices=LABELS, apply=_with_label),
        Filter("domain", "Domain", apply=_of_domain),
        Filter("flag", "Flag"),
        Filter("error", "Failure"),
        Filter("truth", "Beside"),
        Filter("other", "Compared"),
        Filter("audit", "Audit"),
        Filter("alike", "Agents gave", choices=ALIKE),
        Filter("case", "Cases", choices=CASES, apply=with_case),
        Filter("counts", "Label that", apply=with_weight),
        Filter("open", "Without agreement", apply=open_after),
        Filter("heard", "Pairs", apply=heard),
        Filter("lasting", "Debated on", apply=lasting),
        Filter("votes", "Votes", apply=with_votes),
        Filter("effect", "When adopted"),
    ),
    # Ordered by what an index carries for a run of any size: see debate.models.debates.
    columns=(
        Column("query", "Query", order=("query_id",)),
        Column("passage", "Passage", order=("passage_id",)),
        Column("outcome", "Outcome", order=("status",)),
        Column("label", "Label"),
        Column("round", "Round", numeric=True),
    ),
    order=("pk",),
)


def debate_table(access: Access, run: DebateRun) -> Table:
    """The list with what is bound to a run: its search, its flags and failures."""
    bound = {
        "flag": lambda rows, value: rows.filter(pk__in=_flagged(run, value)),
        "error": lambda rows, value: rows.filter(
            status__in=BROKEN_STATUSES, **{FAILURE_CLASS: value}
        ),
        "truth": lambda rows, value: _beside(access, run, rows, value),
        "other": _compared,
        "audit": lambda rows, value: _audited(run, rows, value),
        "effect": effect_of(run),
        "alike": alike_of(run),
    }
    filters = tuple(
        replace(each, apply=bound.get(each.name, each.apply)) for each in DEBATES.filters
    )
    return replace(
        DEBATES, filters=filters, search=lambda rows, words: _search(access, rows, words)
    )


def debate_choices(access: Access, run: DebateRun, params: Mapping[str, str]) -> dict[str, Choices]:
    """Drop-downs that are known only now; comparisons are offered where a link names them."""
    flags = run.flags.order_by("flag").values_list("flag", flat=True).distinct()
    return {
        "domain": domain_choices(access.benchmark),
        "flag": [(flag, FLAGS.get(flag, in_words(flag).capitalize())) for flag in flags],
        "error": [(each.name, each.words[:80]) for each in failure_classes(run) if each.name],
        "truth": _truth_choices(access, params.get("truth", "")),
        "other": _other_choices(access, params.get("other", "")),
        "audit": _audit_choices(run, params.get("audit", "")),
        "counts": WEIGHTS if params.get("counts") else [],
        "open": OPEN if params.get("open") else [],
        "heard": HEARD if params.get("heard") else [],
        "lasting": lasting_choices(params.get("lasting", "")),
        "votes": vote_choices(run, params.get("votes", "")),
        "effect": effect_choices(params.get("effect", "")),
    }


def debate_rows(run: DebateRun) -> QuerySet[Debate]:
    """The run's pairs with what a line of the list shows; texts of passages stay where they are."""
    rows = run.debates.select_related("query__domain", "passage")
    return rows.only(
        *("run_id", "status", "round", "label", "error", "ended_at"),
        *("query__qid", "query__text", "query__domain__name", "passage__pid"),
    )


def is_narrowed(params: Mapping[str, str]) -> bool:
    """Whether a list is asked for less than all its rows."""
    names = {"q", *(each.name for each in DEBATES.filters)}
    return any(params.get(name) for name in names)


def _truth_choices(access: Access, asked: str) -> Choices:
    """The reference that a number of a report was taken against, in three parts."""
    found = reference_called(access.benchmark, asked.partition(":")[0]) if asked else None
    if found is None:
        return []
    words = {"any": "with a label of", "1": "relevant by", "0": "not relevant by"}
    return [(f"{found.key}:{value}", f"{word} {found.name}") for value, word in words.items()]


def _other_choices(access: Access, asked: str) -> Choices:
    """The cell of a comparison with another run that a link names: "12:1:0"."""
    key, *labels = asked.split(":")
    if not is_key(key) or len(labels) != 2 or any(each not in _LABELS for each in labels):
        return []
    other = access.benchmark.debate_runs.filter(pk=int(key)).first()
    if other is None:
        return []
    here, there = (_LABELS[each][1] for each in labels)
    return [(asked, f"{here} here, {there} in {other.name}")]


def _audit_choices(run: DebateRun, asked: str) -> Choices:
    """Decided pairs of an audit that a link names: "3:wrong"."""
    key, _, which = asked.partition(":")
    if not is_key(key) or which not in ("decided", "wrong"):
        return []
    found = run.audits.filter(pk=int(key)).exists()
    return [(asked, f"{which} in audit {key}")] if found else []


def _audited(run: DebateRun, rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    key, _, which = value.partition(":")
    return rows.filter(pk__in=audited_debates(run, int(key), wrong=which == "wrong"))


def _beside(access: Access, run: DebateRun, rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    key, _, truth = value.partition(":")
    found = reference_called(access.benchmark, key)
    if found is None:  # gone since the choices were made
        return rows.none()
    if truth == "any":
        return rows.filter(found.holding(1, run.pool) | found.holding(0, run.pool))
    return rows.filter(found.holding(int(truth), run.pool))


def _compared(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    key, here, there = value.split(":")
    same_pair = Debate.objects.filter(
        run_id=int(key), query=OuterRef("query_id"), passage=OuterRef("passage_id")
    ).exclude(status=DebateStatus.WAITING)
    rows = rows.exclude(status=DebateStatus.WAITING).filter(label=_LABELS[here][0])
    return rows.filter(Exists(same_pair.filter(label=_LABELS[there][0])))


_LABELS: dict[str, tuple[int | None, str]]
_LABELS = {"1": (1, "relevant"), "0": (0, "not relevant"), "none": (None, "no label")}


def _flagged(run: DebateRun, flag: str) -> QuerySet[DebateFlag, int]:
    return DebateFlag.objects.filter(run=run, flag=flag).values_list("debate_id", flat=True)


def _search(access: Access, rows: QuerySet[Debate], words: str) -> QuerySet[Debate]:
    """Pairs whose query holds every word, or whose query's or passage's id begins with them."""
    queries = Query.objects.filter(domain__in=access.benchmark.domains.values("pk")).order_by()
    holding = queries
    for word in words.split()[:MOST_WORDS]:
        holding = holding.filter(text__icontains=word)
    of_queries = {
        *holding.values_list("pk", flat=True)[:MOST_FOUND],
        *queries.filter(begins_with("qid", words)).values_list("pk", flat=True)[:MOST_FOUND],
    }
    of_passages = passages_named(words, benchmark=access.benchmark)
    return rows.filter(one_of(of_queries, "query_id") | one_of(of_passages, "passage_id"))
