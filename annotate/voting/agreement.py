"""Agreement of the votes of a benchmark (docs/protocol.md 2.4). Reads only.

Only cases that their votes have closed count: who may still vote on a case learns nothing about
it from here. A case that an expert's verdict closed opens again once the verdict is taken back,
so its votes stay out too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from annotate.agreement.people import PairReport, PersonReport, pair_reports, person_reports
from annotate.agreement.ratings import BINARY, Rating
from annotate.agreement.slices import Slice, measured, sliced
from annotate.models import CaseStatus, Vote
from annotate.voting.majority import RULE
from annotate.voting.models import VoteQuerySet
from corpus.models import Benchmark, Source
from kit.stats.planning import Plan, items_needed


@dataclass(frozen=True)
class VoteAgreement:
    """Everything that the agreement page says of the votes of a benchmark.

    `rule` names how votes become a label. Abstentions are no labels; they are counted. `plan` is
    the stopping rule for Fleiss' kappa.
    """

    rule: str
    n_votes: int
    n_abstentions: int
    overall: Slice
    by_domain: tuple[Slice, ...]
    by_month: tuple[Slice, ...]
    by_guideline: tuple[Slice, ...]
    pairs: tuple[PairReport, ...]
    people: tuple[PersonReport, ...]
    plan: Plan


def vote_agreement(
    benchmark: Benchmark, *, width: float = 0.1, pair_items: int = 10
) -> VoteAgreement:
    """The report over standing votes on closed cases; pairs with at least `pair_items` cases."""
    opinions = vote_opinions(benchmark)
    overall = measured(opinions, BINARY)
    return VoteAgreement(
        rule=RULE,
        n_votes=len(opinions),
        n_abstentions=_votes(benchmark).filter(label=None).count(),
        overall=overall,
        by_domain=sliced(opinions, BINARY, "domain"),
        by_month=sliced(opinions, BINARY, "month"),
        by_guideline=sliced(opinions, BINARY, "guideline"),
        pairs=pair_reports(opinions, BINARY, at_least=pair_items),
        people=person_reports(opinions, BINARY),
        plan=items_needed(overall.coefficient("fleiss_kappa"), width=width),
    )


def vote_opinions(benchmark: Benchmark) -> Sequence[Rating]:
    """One opinion per standing vote with a label on a closed case; the item is the case."""
    rows = _votes(benchmark).exclude(label=None).order_by("pk")
    fields = (
        "case_id",
        "voter_id",
        "label",
        "case__query__domain__name",
        "created_at",
        "guideline",
    )
    return [
        Rating(
            item=case,
            rater=voter,
            label=label,
            person=voter,
            domain=place,
            month=f"{created:%Y-%m}",
            guideline=str(guideline),
        )
        for case, voter, label, place, created, guideline in rows.values_list(*fields).iterator()
    ]


def _votes(benchmark: Benchmark) -> VoteQuerySet:
    return Vote.objects.standing().filter(
        case__query__domain__benchmark=benchmark,
        case__status=CaseStatus.CLOSED,
        case__judgment__source=Source.HUMAN,  # so no label of a panel is among them
    )
