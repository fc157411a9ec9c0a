"""What people agree on, read for the agreement pages: votes, weights, verdicts. Reads only.

A reading has ratings whose rater is the name that the page shows: admins see who people are,
reviewers see numbers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from django.contrib.auth.models import User

from annotate.agreement.ratings import BINARY, Rating, Scale
from annotate.review.agreement import answered_ratings, verdict_ratings, weight_ratings
from annotate.voting.agreement import vote_opinions
from annotate.voting.majority import RULE
from corpus.access import Access

VOTES, WEIGHTS, SAMPLE = "votes", "weights", "sample"
VERDICTS, ANSWERED = "verdicts", "answered"
# Which coefficient is shown for the whole in charts and in the sample size estimate.
FLEISS, QUADRATIC, PERCENT = "fleiss_kappa", "cohen_kappa_quadratic", "percent_agreement"
COHEN = "cohen_kappa"


@dataclass(frozen=True)
class Reading:
    """Labels of one kind with what a page shows of them.

    `people` maps the names of raters to their keys; empty where raters are parts (author, blind
    scorer), not people; `scorers` then names who scored, by key. `headline` names the coefficient
    that the charts show. `rule` says how the labels become one.
    """

    key: str
    title: str
    item: str
    scale: Scale
    ratings: Sequence[Rating]
    headline: str
    rule: str
    label_names: dict[int, str]
    people: dict[str, int]
    scorers: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    empty: str = ""

    @property
    def names(self) -> dict[int, str]:
        """Names of people by their keys."""
        return {key: name for name, key in self.people.items()}


def vote_reading(access: Access) -> Reading:
    """The votes on cases that votes have closed."""
    found = vote_opinions(access.benchmark)
    voters = sorted({each.person for each in found})
    if access.is_admin:
        rows = User.objects.filter(pk__in=voters).order_by("pk")
        people = dict(rows.values_list("username", "pk"))
    else:
        people = {f"Person {number}": key for number, key in enumerate(voters, 1)}
    named = {key: name for name, key in people.items()}
    return Reading(
        key=VOTES,
        title="Votes on disputes",
        item="case",
        scale=BINARY,
        ratings=[replace(each, rater=named[each.person]) for each in found],
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


def weight_reading(access: Access) -> Reading:
    """Weights of authors compared with the blind scores of second reviews."""
    return _weights(access, WEIGHTS, "Weights in second reviews", review__isnull=False)


def sample_reading(access: Access) -> Reading:
    """Weights of authors compared with blind scores of samples (docs/protocol.md 3.1, 6.12)."""
    return _weights(access, SAMPLE, "Weights scored again for a sample", task__isnull=False)


def _weights(access: Access, key: str, title: str, **purpose: bool) -> Reading:
    ratings, top, left_out, unweighed = weight_ratings(access.benchmark, **purpose)
    scorers = User.objects.filter(pk__in={each.person for each in ratings})
    notes = ["Raw weights over the whole scale, all aspects together; quadratic κ is the headline."]
    if left_out:
        notes.append(
            f"{left_out} scores on another scale are left out: its points mean other things."
        )
    if unweighed:
        notes.append(f"{unweighed} scores are left out: nobody had chosen the aspect’s weight yet.")
    return Reading(
        key=key,
        title=title,
        item="score",
        scale=Scale("interval", tuple(range(1, top + 1))),
        ratings=ratings,
        headline=QUADRATIC,
        rule=(
            "Each aspect has its author’s weight, and one that a reviewer gave without seeing it. "
            "The author’s weight is the one that stood at that moment, whatever the review changed."
        ),
        label_names={point: str(point) for point in range(1, top + 1)},
        people={},
        scorers={str(pk): name for pk, name in scorers.values_list("pk", "username")},
        notes=tuple(notes),
        empty="Nobody has scored weights blind yet.",
    )


def verdict_reading(access: Access) -> Reading:
    """Verdicts of authors and reviewers on gold passages, in accepted reviews."""
    return _verdicts(
        VERDICTS,
        "Verdicts on gold passages",
        verdict_ratings(access.benchmark),
        PERCENT,
        "An author assigned the passage to an aspect; the reviewer kept or removed it. The "
        "author’s verdict is therefore always “gold”, and κ has nothing to say here: it stands "
        "under Verdicts, answered.",
        "Only accepted reviews count.",
    )


def answered_reading(access: Access) -> Reading:
    """Verdicts of reviewers on gold passages, and of authors who had read them."""
    return _verdicts(
        ANSWERED,
        "Verdicts on gold passages after the author’s answer",
        answered_ratings(access.benchmark),
        COHEN,
        "The reviewer kept or removed the passage. Of a removal the author’s verdict is their "
        "last answer: agreed is “removed”, objected is “gold”. The two are not independent: "
        "the author had read the reviewer’s reasons: κ says how much stayed in dispute.",
        "Only accepted reviews count; removals that nobody answered are left out.",
    )


def _verdicts(
    key: str, title: str, ratings: Sequence[Rating], headline: str, rule: str, note: str
) -> Reading:
    return Reading(
        key=key,
        title=title,
        item="passage",
        scale=BINARY,
        ratings=ratings,
        headline=headline,
        rule=rule,
        label_names={0: "removed", 1: "gold"},
        people={},
        notes=(note,),
        empty="No review is accepted yet.",
    )


# Every kind of labels by its key: its tab, and what reads it.
READINGS: dict[str, tuple[str, Callable[[Access], Reading]]] = {
    VOTES: ("Votes", vote_reading),
    WEIGHTS: ("Weights", weight_reading),
    SAMPLE: ("Weights, sample", sample_reading),
    VERDICTS: ("Verdicts", verdict_reading),
    ANSWERED: ("Verdicts, answered", answered_reading),
}


def may_read(access: Access, key: str) -> bool:
    """Votes on closed cases are for admins and reviewers; weights for admins alone.

    A reviewer may still have to score a query blind, and would learn its weights from here.
    """
    return key == VOTES or access.is_admin
