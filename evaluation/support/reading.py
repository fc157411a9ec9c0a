"""A set of answers with what judges and people said of its citations."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotate.grading.models import WEIGHTS
from annotate.models import SentenceGrade
from evaluation.support.models import Claim, SupportRun, SupportSet, SupportState
from evaluation.support.protocol.judging import Support, support
from kit.runs.models import RunStatus

TOGETHER: Final = "together"
ORIGIN: Final = "claim"


@dataclass(frozen=True)
class Found:
    """A set with all that was said of it. `claims` are (answer, sentence) by key; claims of unknown
    passages are in `unknown`, those without a text in `bare`; `said` are verdicts by judge."""

    of: SupportSet
    answers: Sequence[tuple[int, str, int, int]]  # key, system, query, sentences
    claims: Mapping[int, tuple[int, int]]
    unknown: frozenset[int]
    bare: frozenset[int]
    judges: Mapping[str, SupportRun]
    said: Mapping[str, Mapping[int, int]]
    people: Sequence[tuple[int, SentenceGrade]]  # by claim

    @property
    def names(self) -> list[str]:
        """Its judges, and all of several together."""
        return [*self.said, *([TOGETHER] if len(self.said) > 1 else [])]

    @property
    def claims_of(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """By answer: (sentence, claim) of each citation."""
        of: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for claim, (answer, sentence) in self.claims.items():
            of[answer].append((sentence, claim))
        return of

    @property
    def first_weights(self) -> dict[int, list[float]]:
        """What each person said of a citation before machines' verdicts were shown, as weights."""
        given: dict[int, list[float]] = defaultdict(list)
        for claim, row in self.people:
            if row.first is not None:
                given[claim].append(WEIGHTS[row.first])
        return dict(given)

    def weights(self, judge: str) -> Mapping[int, float | None]:
        """By claim; None where there is no verdict, 0 for an unknown passage. Of judges together
        the mean, where all have one."""
        tables = list(self.said.values()) if judge == TOGETHER else [self.said[judge]]
        found: dict[int, float | None] = {}
        for claim in self.claims:
            values = [WEIGHTS[table[claim]] for table in tables if claim in table]
            whole = len(values) == len(tables)
            found[claim] = 0.0 if claim in self.unknown else (
                sum(values) / len(values) if whole and values else None
            )  # fmt: skip
        return found


def read(of: SupportSet) -> Found:
    """All of it. Of a judge that was asked twice, what it said last."""
    columns = ("pk", "system", "query_id", "sentences")
    answers = [
        (key, system, query, len(sentences))
        for key, system, query, sentences in of.answers.order_by("pk").values_list(*columns)
    ]
    rows = Claim.objects.filter(answer__support_set=of).order_by("pk")
    claims = {
        key: (answer, sentence)
        for key, answer, sentence in rows.values_list("pk", "answer_id", "sentence")
    }
    unknown = rows.filter(passage=None).values_list("pk", flat=True)
    bare = rows.filter(passage__isnull=False, passage__text=None).values_list("pk", flat=True)
    judges = read_judges(of)
    said = {
        name: {
            claim: value or 0
            for claim, value in run.verdicts.filter(state=SupportState.JUDGED)
            .order_by()
            .values_list("claim", "value")
        }
        for name, run in judges.items()
    }
    return Found(
        of, answers, claims, frozenset(unknown), frozenset(bare), judges, said, _people(of)
    )


def read_judges(of: SupportSet) -> dict[str, SupportRun]:
    """The last run of each judge that is done, the first judge first."""
    found: dict[str, SupportRun] = {}
    for run in of.runs.filter(SupportRun.plain(), status=RunStatus.DONE).order_by("pk"):
        found[run.judge] = run
    return found


def _people(of: SupportSet) -> list[tuple[int, SentenceGrade]]:
    rows = SentenceGrade.objects.standing().filter(
        item__origin__startswith=f"{ORIGIN}:{of.pk}:", verdict__isnull=False
    )
    rows = rows.select_related("item").order_by("pk")
    return [(claim_of(row.item.origin), row) for row in rows]


def claim_of(origin: str) -> int:
    """The claim that people are asked about by that name."""
    return int(origin.rpartition(":")[2])


def supports(found: Found, judge: str) -> dict[str, dict[int, list[Support]]]:
    """Of each system its answers to each query, as a judge weighs what they cite."""
    weights, claims_of = found.weights(judge), found.claims_of
    made: dict[str, dict[int, list[Support]]] = {}
    for key, system, query, count in found.answers:
        told: list[list[float | None]] = [[] for _ in range(count)]
        for at, claim in claims_of[key]:
            told[at].append(weights[claim])
        made.setdefault(system, {}).setdefault(query, []).append(support(told))
    return made
