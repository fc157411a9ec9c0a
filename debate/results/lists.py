"""The list of a run's pairs: what it searches, filters and sorts by, for screens, files and API.

What links of the run monitor and of reports narrow the list of pairs by, as conditions."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Concat

from annotate.models import CaseStatus
from corpus.access import Access
from corpus.lists import domain_choices, is_key
from corpus.models import Query, Status
from corpus.texts.finding import MAX_FOUND, begins_with, one_of, passages_named
from debate.adoption.services import EFFECTS, with_effect
from debate.audits.services import audited_debates
from debate.dream import ADJUDICATOR, MAX_ROUNDS
from debate.escalation import ORIGIN
from debate.models import Debate, DebateFlag, DebateRun, DebateStatus, RunKind, Turn
from debate.references import reference_called
from debate.runs.figures import BROKEN_STATUSES, failure_classes
from kit.lists.tables import MAX_WORDS, Choices, Column, Filter, Table
from kit.templatetags.assay import in_words

ALIKE: Final = (("same", "the same answer"), ("different", "different answers"))
CASES: Final = (
    ("any", "before people"),
    ("opened", "that the run brought before people"),
    ("open", "that people judge now"),
    ("closed", "that people decided"),
)
ANSWERED: Final = (("yes", "with answers of models"), ("no", "without any"))
WEIGHTS: Final = (
    (Status.STANDING.value, "stands"),
    (Status.TRIAL.value, "is on trial"),
    (Status.SUPERSEDED.value, "is history"),
)
VOTES: Final = {"T": "yes", "F": "no", "?": ""}
_LASTING: Final = {"played": "played", "agreed": "in agreement", "same": "agreed as in round 1"}


def alike_of(run: DebateRun) -> Callable[[QuerySet[Debate], str], QuerySet[Debate]]:
    """Pairs whose agents gave the same answer in the round that decided, or did not.

    A debate's outcome tells it, and an index leads there; of other kinds the turns are read.
    """
    if run.kind != RunKind.DEBATE:
        return _alike
    same, different = [DebateStatus.AGREED], [DebateStatus.ESCALATED, DebateStatus.ADJUDICATED]
    return lambda rows, value: rows.filter(status__in=same if value == "same" else different)


def _alike(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    last = Subquery(_agent_turns().order_by("-round").values("round")[:1])
    rows = rows.annotate(decisive=Coalesce("round", last)).exclude(decisive=None)
    return rows.filter(_agreeing("decisive") if value == "same" else _differing("decisive"))


def with_case(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs that have a case, by how it came and how it stands."""
    if value == "opened":
        own = Concat(Value(ORIGIN), Cast("pk", CharField()), output_field=CharField())
        return rows.filter(case__origin=own)
    if value == "open":
        return rows.exclude(case=None).exclude(case__status=CaseStatus.CLOSED)
    rows = rows.exclude(case=None)
    return rows.filter(case__status=CaseStatus.CLOSED) if value == "closed" else rows


def _counting(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs by the status of the label that they brought: of the pair, or of support."""
    return rows.filter(Q(judgment__status=value) | Q(support__status=value))


def open_after(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs without agreement after that round: agreed later, disputed, or ruled on."""
    lasting = Q(status__in=(DebateStatus.ESCALATED, DebateStatus.ADJUDICATED))
    return rows.filter(lasting | Q(status=DebateStatus.AGREED, round__gt=int(value)))


def with_answers(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs about which somebody was asked, or nobody."""
    turns = Exists(Turn.objects.filter(debate=OuterRef("pk")))
    return rows.filter(turns if value == "yes" else ~turns)


def lasting(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs that agreed in round 1 and were played in a later round: "3", "3:agreed", "3:same"."""
    number, _, how = value.partition(":")
    rows = rows.filter(Exists(_turns_of(int(number)))).filter(_agreeing(1))
    if how == "agreed":
        return rows.filter(_agreeing(int(number)))
    if how == "same":
        same = [_all_labelled(label, 1) & _all_labelled(label, int(number)) for label in (0, 1)]
        return rows.filter(same[0] | same[1])
    return rows


def lasting_choices(asked: str) -> Choices:
    """What a number of the table of persistence counts, where a link names it."""
    number, _, how = asked.partition(":")
    how = how or "played"
    if number not in {"1", "2", "3", "4", "5"} or how not in _LASTING:
        return []
    return [(asked, f"agreed in round 1, {_LASTING[how]} in round {number}")]


def with_votes(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    """Pairs of a filter by its models' votes: "FFT", "J2:F", "J2:alone", "J1+J2"."""
    judge, colon, how = value.partition(":")
    if colon:
        vote = "F" if how in ("alone", "overruled") else how
        rows = rows.filter(_voted(judge, vote))
        others = Turn.objects.filter(debate=OuterRef("pk")).exclude(agent=judge)
        if how == "alone":
            return rows.exclude(Exists(others.filter(response="no")))
        return rows.filter(Exists(others.exclude(response="no"))) if how == "overruled" else rows
    if "+" in value:
        for each in value.split("+"):
            rows = rows.filter(_voted(each, "F"))
        return rows
    for place, vote in enumerate(value, start=1):
        rows = rows.filter(_voted(f"J{place}", vote))
    return rows


def vote_choices(run: DebateRun, asked: str) -> Choices:
    """What a number of the filter's report counts, where a link names it."""
    judges = [f"J{number}" for number in range(1, 1 + len(run.model_choices))]
    judge, colon, how = asked.partition(":")
    words = {"T": "said true", "F": "said false", "?": "was not read"}
    words |= {"alone": "alone said false", "overruled": "said false and was outvoted"}
    if colon:
        return [(asked, f"{judge} {words[how]}")] if judge in judges and how in words else []
    if "+" in asked:
        return [(asked, f"{asked} said false")] if set(asked.split("+")) <= set(judges) else []
    if len(asked) == len(judges) and set(asked) <= set(VOTES):
        return [(asked, f"votes {asked}")]
    return []


def _voted(judge: str, vote: str) -> Exists:
    return Exists(Turn.objects.filter(debate=OuterRef("pk"), agent=judge, response=VOTES[vote]))


def _agent_turns() -> QuerySet[Turn]:
    return Turn.objects.filter(debate=OuterRef("pk")).exclude(agent=ADJUDICATOR)


def _turns_of(round: int | str) -> QuerySet[Turn]:
    """The agents' turns of a round: its number, or the name of the annotation with it."""
    number = OuterRef(round) if isinstance(round, str) else round
    return _agent_turns().filter(round=number)


def _all_labelled(label: int, round: int | str) -> Q:
    turns = _turns_of(round)
    other = Q(label=None) | ~Q(label=label)
    return Q(Exists(turns.filter(label=label))) & ~Q(Exists(turns.filter(other)))


def _agreeing(round: int | str) -> Q:
    return _all_labelled(0, round) | _all_labelled(1, round)


def _differing(round: int | str) -> Q:
    turns = _turns_of(round)
    return Q(Exists(turns.filter(label=1))) & Q(Exists(turns.filter(label=0)))


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


DEBATES = Table(
    search=("query__text", "query__qid", "passage__pid"),
    filters=(
        Filter("status", "Outcome", choices=OUTCOMES, apply=_with_outcome),
        Filter("round", "Round", choices=ROUNDS, apply=_in_round),
        Filter("label", "Label", choices=LABELS, apply=_with_label),
        Filter("domain", "Domain", lookup="query__domain__name"),
        Filter("flag", "Flag"),
        Filter("error", "Failure"),
        Filter("truth", "Beside"),
        Filter("other", "Compared"),
        Filter("audit", "Audit"),
        Filter("alike", "Agents gave", choices=ALIKE),
        Filter("case", "Cases", choices=CASES, apply=with_case),
        Filter("counts", "Label that", apply=_counting),
        Filter("open", "Without agreement", apply=open_after),
        Filter("heard", "Pairs", apply=with_answers),
        Filter("lasting", "Debated on", apply=lasting),
        Filter("votes", "Votes", apply=with_votes),
        Filter("effect", "When adopted"),
    ),
    # Ordered by an index for a run of any size: see debate.runs.models.
    columns=(
        Column("query", "Query", order=("query_id",)),
        Column("passage", "Passage", order=("passage_id",)),
        Column("outcome", "Outcome", order=("status",)),
        Column("label", "Label"),
        Column("round", "Round", numeric=True),
    ),
    order=("pk",),
    by_place=True,
)


def debate_table(access: Access, run: DebateRun) -> Table:
    """The list with what is bound to a run: its search, its flags and failures."""
    flags = DebateFlag.objects.filter(run=run)
    bound: dict[str, Callable[..., QuerySet[Debate]]] = {
        "flag": lambda rows, value: rows.filter(pk__in=flags.filter(flag=value).values("debate")),
        "error": lambda rows, value: rows.filter(status__in=BROKEN_STATUSES, error_class=value),
        "truth": lambda rows, value: _with_truth(access, run, rows, value),
        "other": _compared,
        "audit": lambda rows, value: _audited(run, rows, value),
        "effect": partial(with_effect, run),
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
    effect = params.get("effect", "")
    return {
        "domain": domain_choices(access.benchmark),
        "flag": [(flag, FLAGS.get(flag, in_words(flag).capitalize())) for flag in flags],
        "error": [
            (each["name"], each["words"][:80]) for each in failure_classes(run) if each["name"]
        ],
        "truth": _truth_choices(access, params.get("truth", "")),
        "other": _other_choices(access, params.get("other", "")),
        "audit": _audit_choices(run, params.get("audit", "")),
        "counts": WEIGHTS if params.get("counts") else [],
        "open": OPEN if params.get("open") else [],
        "heard": ANSWERED if params.get("heard") else [],
        "lasting": lasting_choices(params.get("lasting", "")),
        "votes": vote_choices(run, params.get("votes", "")),
        "effect": [(effect, EFFECTS[effect])] if effect in EFFECTS else [],
    }


def debate_rows(run: DebateRun) -> QuerySet[Debate]:
    """The run's pairs with what a line of the list shows; texts of passages stay where they are."""
    rows = run.debates.select_related("query__domain", "passage", "aspect")
    return rows.only(
        *("aspect__k", "aspect__content"),
        *("run_id", "status", "round", "label", "error", "ended_at"),
        *("query__qid", "query__text", "query__has_title", "query__domain__name", "passage__pid"),
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


def _with_truth(
    access: Access, run: DebateRun, rows: QuerySet[Debate], value: str
) -> QuerySet[Debate]:
    key, _, truth = value.partition(":")
    found = reference_called(access.benchmark, key)
    if found is None:  # gone since the choices were made
        return rows.none()
    if truth == "any":
        return rows.filter(found.holding(1, run.pool) | found.holding(0, run.pool))
    return rows.filter(found.holding(int(truth), run.pool))


def _compared(rows: QuerySet[Debate], value: str) -> QuerySet[Debate]:
    key, here, there = value.split(":")
    pairs = Debate.objects.annotate(asked=Coalesce("aspect_id", 0))
    same_pair = pairs.filter(
        run_id=int(key),
        query=OuterRef("query_id"),
        passage=OuterRef("passage_id"),
        asked=Coalesce(OuterRef("aspect_id"), 0),
    ).exclude(status=DebateStatus.WAITING)
    rows = rows.exclude(status=DebateStatus.WAITING).filter(label=_LABELS[here][0])
    return rows.filter(Exists(same_pair.filter(label=_LABELS[there][0])))


_LABELS: dict[str, tuple[int | None, str]]
_LABELS = {"1": (1, "relevant"), "0": (0, "not relevant"), "none": (None, "no label")}


def _search(access: Access, rows: QuerySet[Debate], words: str) -> QuerySet[Debate]:
    """Pairs whose query contains every word, or whose query's or passage's id begins with them."""
    queries = Query.objects.filter(domain__in=access.benchmark.domains.values("pk")).order_by()
    holding = queries
    for word in words.split()[:MAX_WORDS]:
        holding = holding.filter(text__icontains=word)
    of_queries = {
        *holding.values_list("pk", flat=True)[:MAX_FOUND],
        *queries.filter(begins_with("qid", words)).values_list("pk", flat=True)[:MAX_FOUND],
    }
    of_passages = passages_named(words, benchmark=access.benchmark)
    return rows.filter(one_of(of_queries, "query_id") | one_of(of_passages, "passage_id"))
