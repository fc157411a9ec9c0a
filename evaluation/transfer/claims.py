"""A pseudonym that came with a file is said to be a person of this installation.

What stands under it in the benchmark becomes the person's: wherever a foreign key names them, and
keys in JSON (`references`). The link of a vote is made from who gave it, so the chains of its cases
are made anew; a case whose votes were altered stays known as altered.
"""

from collections import Counter
from collections.abc import Iterator
from functools import reduce
from itertools import chain, permutations
from operator import or_
from typing import Final

from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.db.models import Count, Exists, OuterRef, Q, UniqueConstraint

from annotate.adjudication.third_persons import parts_in_pair, parts_in_weight
from annotate.models import (
    Adjudication,
    AnswerRating,
    AnswerReview,
    Consent,
    EscalationCase,
    ReferenceAnswer,
    Review,
    SentenceGrade,
    Vote,
    VoteSlot,
    WeightScore,
)
from annotate.voting.models import altered_cases
from corpus.benchmarks.archive import refuse_archived
from corpus.models import Benchmark, Membership
from evaluation.transfer import references
from evaluation.transfer.graph import Part, is_person, parts_of
from evaluation.transfer.reading import seal_votes
from evaluation.transfer.references import CLAIMED, OF_VERB
from kit import audit
from kit.account.names import ERASED
from kit.account.people import is_pseudonym
from kit.errors import Refused
from kit.models import Event

# Where one row, or the row it stands on, names several people who must not be one.
_APART: Final[tuple[tuple[type[models.Model], tuple[str, ...]], ...]] = (
    (Review, ("reviewer", "author", "third")),
    (WeightScore, ("scorer", "author")),
    (AnswerReview, ("reviewer", "answer__created_by")),
    (AnswerRating, ("rater", "pair__human__created_by")),
)


def claim(*, benchmark: Benchmark, pseudonym: str, person: User | None, actor: User | None) -> int:
    """Say who a pseudonym of a file is: what stands under it here becomes theirs; how many rows.

    Nothing undoes it, and who writes a file can write decisions into it: it is for staff. Raises
    Refused where nothing stands under it, for who is no member, and where both had a part in one
    decision.
    """
    refuse_archived(benchmark)
    with transaction.atomic():
        Benchmark.objects.select_for_update(no_key=True).get(pk=benchmark.pk)
        stranger = next((each for each in strangers(benchmark) if each.username == pseudonym), None)
        if stranger is None:
            words = f"Nothing that a file brought stands under {pseudonym[:80]} here."
            raise Refused(words, field="pseudonym")
        places = Membership.objects.filter(benchmark=benchmark, user__is_active=True)
        if person is None or not places.filter(user=person).exists():
            raise Refused("Choose an active member of this benchmark.", field="person")
        rows = give(benchmark, stranger, person)
        audit.record(
            actor=actor,
            verb=CLAIMED,
            target=benchmark,
            scope=f"{benchmark.slug}#merges",
            data={"pseudonym": stranger.pk, "person": person.pk, "rows": rows},
        )
    return rows


def claimed(benchmark: Benchmark) -> dict[User, User]:
    """By the account of a pseudonym the member that it was said to be; none who left the site."""
    told = Event.objects.filter(verb=CLAIMED, scope=f"{benchmark.slug}#merges").order_by("pk")
    said = [each.data for each in told if isinstance(each.data, dict)]  # a file may bring others
    named = [(each.get("pseudonym"), each.get("person")) for each in said]
    pairs = {one: of for one, of in named if type(one) is int and type(of) is int}
    people = User.objects.in_bulk([*pairs, *pairs.values()])
    known = [(people.get(one), people.get(of)) for one, of in pairs.items()]
    return {one: of for one, of in known if one and of and of.is_active}


def erased_here() -> set[int]:
    """Keys of everybody whose account was erased at this installation."""
    told = Event.objects.filter(verb="erase account", scope="")
    return {int(pk) for pk in told.values_list("target_id", flat=True)}


def strangers(benchmark: Benchmark) -> dict[User, int]:
    """Accounts of pseudonyms that came with files, with how many rows here name each."""
    accounts = User.objects.filter(username__startswith=ERASED, is_active=False)
    known = {
        each.pk: each
        for each in accounts.exclude(pk__in=erased_here())
        if is_pseudonym(each.username)
    }
    counts: Counter[int] = Counter()
    for part, field in _naming(parts_of(benchmark)) if known else ():
        rows = part.rows.filter(**{f"{field}__in": known}).order_by().values(field)
        counts.update({each[field]: each["n"] for each in rows.annotate(n=Count("pk"))})
    return {known[pk]: count for pk, count in sorted(counts.items())}


def give(benchmark: Benchmark, stranger: User, person: User) -> int:
    """Let everything of the benchmark that names the one name the other; how many rows did.

    In the caller's transaction. Raises Refused where both had a part in one decision.
    """
    parts = parts_of(benchmark)
    cases = EscalationCase.objects.filter(
        query__domain__benchmark=benchmark,
        pk__in=Vote.objects.filter(voter=stranger).values("case"),
    )
    held = list(cases.select_for_update(of=("self",)).order_by("pk").values_list("pk", flat=True))
    _refuse_shared(parts, stranger, person, held)
    votes = Vote.objects.filter(case__in=held).order_by("case", "pk")
    altered = altered_cases(votes.iterator(2_000))
    try:
        with transaction.atomic():
            count = sum(
                part.rows.filter(**{field: stranger}).update(**{field: person})
                for part, field in _naming(parts)
            )
    except IntegrityError as error:
        raise Refused(f"{_both(stranger, person)} had a part in one decision: {error}") from error
    _rename_in_json(parts, stranger, person)
    seal_votes(votes.exclude(case__in=altered))
    return count


def _naming(parts: list[Part]) -> Iterator[tuple[Part, str]]:
    """Every column that names a person; but who consented did so themselves, or did not."""
    for part in parts:
        for at, target in part.targets.items():
            if is_person(target) and part.kind is not Consent:
                yield part, part.fields[at].name


def _both(stranger: User, person: User) -> str:
    return f"{person.username} and {stranger.username} cannot be one person: both"


def _refuse_shared(parts: list[Part], stranger: User, person: User, cases: list[int]) -> None:
    """Raise Refused, naming the place, where two people are needed and there would be one."""
    both = _both(stranger, person)
    for part, field in _naming(parts):
        for rule in part.kind._meta.constraints:
            if not isinstance(rule, UniqueConstraint) or field not in rule.fields:
                continue
            rows = part.rows.filter(rule.condition or Q())
            others = [name for name in rule.fields if name != field]
            same = rows.filter(**{field: person}, **{name: OuterRef(name) for name in others})
            if found := rows.filter(Exists(same), **{field: stranger}).first():
                about = ", ".join(str(getattr(found, name)) for name in others)
                raise Refused(f"{both} have a {part.kind._meta.verbose_name} of {about}.")
    own = {part.kind: part.rows for part in parts}
    for kind, fields in _APART:
        for one, other in permutations(fields, 2):
            if found := own[kind].filter(**{one: stranger, other: person}).first():
                raise Refused(f"{both} had a part in {found}, which takes two people.")
    for grader, author in ((stranger, person), (person, stranger)):
        written = ReferenceAnswer.objects.by_people().filter(created_by=author).values("query")
        judged = own[SentenceGrade].filter(grader=grader, item__is_reference=True)
        if found := judged.filter(item__query__in=written).first():
            raise Refused(f"{both} had a part in {found}, which takes two people.")
    for decision in own[Adjudication].filter(undone_at=None, adjudicator__in=(stranger, person)):
        pair = decision.query_id, decision.passage_id or 0
        between = parts_in_weight(decision.aspect) if decision.aspect else parts_in_pair(*pair)
        if ({stranger.pk, person.pk} - {decision.adjudicator_id}) & between:
            raise Refused(f"{both} had a part in {decision} ({decision.in_words}), one as third.")
    if VoteSlot.objects.held_by(person.pk).filter(case__in=cases).exists():
        raise Refused(
            f"{person.username} is just asked about a case that {stranger.username} voted on. "
            "Let them end or give back their batch."
        )


def _rename_in_json(parts: list[Part], stranger: User, person: User) -> None:
    own = {part.label: part.rows for part in parts}
    of_events = [references.naming_people(references.of_verb(each)) for each in OF_VERB]
    rules = [(*of, references.naming_people(rule)) for of, rule in references.RULES.items()]
    for label, field, names in [*rules, ("kit.Event", "data", sorted({*chain(*of_events)}))]:
        named = [Q(**{f"{field}__{name}": stranger.pk}) for name in names]
        for row in own[label].filter(reduce(or_, named)) if named else ():
            told = getattr(row, field)
            if isinstance(row, Event):  # an earlier claim keeps saying which pseudonym it was
                rule = references.of_verb(row.verb)
                names = references.naming_people(rule) if row.verb != CLAIMED else []
            told |= {name: person.pk for name in names if told.get(name) == stranger.pk}
            type(row)._base_manager.filter(pk=row.pk).update(**{field: told})
