"""Experts say how far passages support the sentences that cite them (docs/protocol.md 3.7).

Each gives a verdict of their own first; then what machines said is shown, and they keep it or give
another. In a part that is drawn by chance the machines' verdicts stand there from the start, as in
post-editing: the difference is what anchoring does. The verdict that most people give settles it:
one more is asked as long as two verdicts are level.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotate import keyed
from annotate.answers.citing import are_whole_words
from annotate.answers.rights import answers_here
from annotate.grading.models import FULL, VERDICTS, SampleKind
from annotate.grading.services import PEOPLE, SEED, draw_items, kept_back, record
from annotate.models import GradingSample, Guideline, SentenceGrade, SentenceItem, VoteSlot
from corpus.access import Access
from corpus.judgments.services import lock_queries
from kit.errors import Refused

SIZE, POST_EDIT = 100, 25
NO_WORDS: Final = (
    "Choose the words of the passage that fully support the sentence, three whole ones at least."
)
GONE: Final = "This sentence does not wait for you any more."
FIRST, SHOWN, FINAL, GIVEN = "first", "shown", "final", "given"


def open_sentences(
    *,
    access: Access,
    sentences: Sequence[SentenceItem],
    size: int = SIZE,
    seed: int = SEED,
    people: int = PEOPLE,
    post_edit: int = POST_EDIT,
) -> GradingSample:
    """Draw of these unsaved sentences, by domain in proportion, and ask so many experts about each.

    `post_edit` percent of them are shown with the machines' verdicts from the start. Raises as
    `open_sample`.
    """
    if not 0 <= post_edit <= 90:
        raise Refused("Give 0 to 90 percent.", field="post_edit")
    with transaction.atomic():
        sample, rows = draw_items(
            access,
            sentences,
            size=size,
            seed=seed,
            people=people,
            kind=SampleKind.SENTENCES,
            post_edit=post_edit,
        )
        judged = [at for at, row in enumerate(rows) if row.machines]
        judged.sort(key=lambda at: keyed.draw("post-edit", sample.pk, at))
        for at in judged[: round(len(judged) * post_edit / 100)]:
            rows[at].is_post_edit = True
        SentenceItem.objects.bulk_create(rows)
    return sample


def judgeable(access: Access) -> QuerySet[SentenceItem]:
    """Sentences of open samples that this person may judge, or correct their verdict on.

    Not of a reference answer that they wrote, nor while they hold a case of the same pair: there
    they judge before they know what machines said. Nor what they judged in another sample, where
    they were shown it.
    """
    if not access.is_voter:
        return SentenceItem.objects.none()
    rows = SentenceItem.objects.filter(
        sample__benchmark=access.benchmark,
        sample__closed_at=None,
        query__domain_id__in=access.domain_ids,
    )
    held = VoteSlot.objects.held_by(access.user.pk).filter(
        case__query=OuterRef("query"), case__passage=OuterRef("passage")
    )
    own = Q(answers_here(access.user, "query"), is_reference=True)
    rows = rows.exclude(kept_back(access)).exclude(own).exclude(Exists(held))
    same = SentenceGrade.objects.filter(
        grader=access.user,
        item__query=OuterRef("query"),
        item__passage=OuterRef("passage"),
        item__text=OuterRef("text"),
    )
    rows = rows.exclude(Exists(same.exclude(item=OuterRef("pk"))))
    return rows.select_related("query__domain__benchmark", "sample", "passage")


def to_judge(access: Access) -> QuerySet[SentenceItem]:
    """Of these, those that wait for this person's verdict: begun ones, and where others lack."""
    mine = SentenceGrade.objects.standing().filter(item=OuterRef("pk"), grader=access.user)
    given = Q(grades__stands=True, grades__verdict__isnull=False)
    values = [value for value, _ in VERDICTS]
    counts = {f"n{v}": Count("grades", filter=given & Q(grades__verdict=v)) for v in values}
    rows = judgeable(access).annotate(given=Count("grades", filter=given), **counts)
    lacking = Q(given__lt=F("sample__people"))
    for one, other in combinations(values, 2):
        (third,) = {*values} - {one, other}
        level = {f"n{one}": F(f"n{other}"), f"n{one}__gte": F(f"n{third}"), f"n{one}__gt": 0}
        lacking |= Q(**level)
    is_begun = Exists(mine.filter(Q(verdict=None) | Q(saw_machines=False)))
    begun = Q(is_begun) & ~Q(machines=[])
    return rows.filter(begun | (~Q(Exists(mine)) & lacking))


def next_sentence(access: Access) -> SentenceItem | None:
    """The first in this person's own order, what they have begun before all."""
    begun = SentenceGrade.objects.standing().filter(item=OuterRef("pk"), grader=access.user)
    rows = to_judge(access).annotate(is_begun=Exists(begun)).values_list("pk", "is_begun")
    first = min(
        rows,
        key=lambda row: (not row[1], keyed.draw("to judge", row[0], access.user.pk)),
        default=None,
    )
    return None if first is None else judgeable(access).get(pk=first[0])


def own_verdict(item: SentenceItem, access: Access) -> SentenceGrade | None:
    """What this person said of it so far."""
    return SentenceGrade.objects.standing().filter(item=item, grader=access.user).first()


def stage_of(item: SentenceItem, mine: SentenceGrade | None) -> str:
    """`first`: judged without machines; `shown`: beside them from the start; `final`: after an own
    verdict they are shown; `given`: what is said now corrects it."""
    if mine is None or mine.verdict is None:
        return SHOWN if item.is_post_edit else FIRST
    return GIVEN if mine.saw_machines or not item.machines else FINAL


def open_sentence(*, item: SentenceItem, access: Access) -> SentenceGrade | None:
    """What this person said of it so far. Where machines' verdicts stand there from the start, that
    they were shown is kept, so that nobody is asked about the pair elsewhere as if they had not."""
    mine = own_verdict(item, access)
    if mine is None and item.is_post_edit:
        try:
            with transaction.atomic():
                return SentenceGrade.objects.create(
                    item=item, grader=access.user, saw_machines=True
                )
        except IntegrityError:  # another tab opened it just now
            return own_verdict(item, access)
    return mine


def judge_sentence(
    *,
    item: SentenceItem,
    access: Access,
    verdict: int,
    span: tuple[int, int] | None = None,
    reason: str = "",
    expected: str = "",
) -> SentenceGrade:
    """Say how far the passage supports the sentence; "fully" takes the words that do.

    A second verdict is the one after the machines' were shown, a later one a correction, which
    needs a reason. `expected` is the stage in which the person said it, so that what was meant as
    a first verdict never counts as one that knows the machines'. Raises Refused.
    """
    reason = reason.strip()
    if verdict not in dict(VERDICTS):
        raise Refused("Say whether it is fully, partly or not supported.", field="verdict")
    with transaction.atomic():
        lock_queries([item.query_id])
        found = judgeable(access).filter(pk=item.pk).first()
        if found is None:
            raise Refused(GONE)
        if span is not None and not 0 <= span[0] < span[1] <= len(found.passage.text or ""):
            raise Refused("These words are not in the passage. Choose them again.", field="span")
        if verdict == FULL and not (span and are_whole_words(found.passage.text or "", *span)):
            raise Refused(NO_WORDS, field="span")
        mine = own_verdict(found, access)
        stage = stage_of(found, mine)
        if expected and expected != stage:
            raise Refused("You have judged this sentence in another tab.")
        if stage == GIVEN and not reason:
            raise Refused("You have judged this sentence. Say why you change it.", field="reason")
        is_first = stage == FIRST
        start, end = span or (None, None)
        given = SentenceGrade.objects.filter(item=found, grader=access.user).supersede(
            item=found,
            grader=access.user,
            verdict=verdict,
            first=verdict if is_first else mine.first if mine else None,
            saw_machines=not is_first,
            start=start,
            end=end,
            reason=reason,
            guideline=Guideline.objects.current_version(access.benchmark.pk),
        )
        data = {"sentence": found.pk, "verdict": verdict, "stage": stage, "reason": reason}
        record(access, "judge sentence", given, **data)
    return given
