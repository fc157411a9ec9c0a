"""What people agree on, read for the agreement pages: votes, weights, verdicts. Reads only.

A reading holds opinions whose rater is the name that the page shows: admins see who people are,
reviewers see numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User

from annotate.agreement.opinions import BINARY, Opinion, Scale
from annotate.services.agreement import vote_opinions
from annotate.services.majority import RULE
from corpus.access import Access

VOTES = "votes"
# Which coefficient stands for the whole in charts and in the stopping rule.
FLEISS, QUADRATIC, PERCENT = "fleiss_kappa", "cohen_kappa_quadratic", "percent_agreement"


@dataclass(frozen=True)
class Reading:
    """Labels of one kind with what a page must know of them.

    `people` maps the names of raters to their keys; empty where raters are parts (author, blind
    scorer), not people. `headline` names the coefficient that the charts show. `rule` says how
    the labels become one.
    """

    key: str
    title: str
    item: str
    scale: Scale
    opinions: Sequence[Opinion]
    headline: str
    rule: str
    label_names: dict[int, str]
    people: dict[str, int]
    notes: tuple[str, ...] = ()
    empty: str = ""

    @property
    def names(self) -> dict[int, str]:
        """Keys of people and the names that stand for them."""
        return {key: name for name, key in self.people.items()}


def vote_reading(access: Access) -> Reading:
    """The votes on cases that votes have closed."""
    found = vote_opinions(access.benchmark)
    people = _names(access, {each.person for each in found})
    named = {key: name for name, key in people.items()}
    return Reading(
        key=VOTES,
        title="Votes on disputes",
        item="case",
        scale=BINARY,
        opinions=[replace(each, rater=named[each.person]) for each in found],
        headline=FLEISS,
        rule=(
            f"Votes become a label by the rule {RULE}: three votes, the majority is the label, "
            "which keeps the name of the rule and the votes. An abstention draws another voter; "
            "five votes without two alike go to an expert, so that a tie is never broken by chance."
        ),
        label_names={0: "not relevant", 1: "relevant"},
        people=people,
        notes=("Only cases that votes have closed count; abstentions are no labels.",),
        empty="No case is closed yet. Agreement appears once cases have three votes.",
    )


def _names(access: Access, keys: Iterable[int]) -> dict[str, int]:
    wanted = sorted(keys)
    if not access.is_admin:
        return {f"Person {number}": key for number, key in enumerate(wanted, 1)}
    rows = User.objects.filter(pk__in=wanted).order_by("pk").values_list("username", "pk")
    return dict(rows)


READINGS: dict[str, Any] = {VOTES: vote_reading}
TITLES: dict[str, str] = {VOTES: "Votes"}


def may_read(access: Access, key: str) -> bool:
    """Votes on closed cases are for admins and reviewers; weights for admins alone.

    A reviewer may still have to score a query blind, and would learn its weights from here.
    """
    return key == VOTES or access.is_admin
