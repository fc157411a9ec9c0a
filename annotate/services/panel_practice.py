"""Who may label in which domain of a panel: exam and practice (docs/protocol.md 2.6)."""

from django.contrib.auth.models import User

from annotate.models import AttemptState, ExamAnswer, ExamAttempt, ReferencePanel
from annotate.services.eligibility import voting_domains
from annotate.services.exams import start_attempt
from corpus.access import Access
from corpus.models import Domain
from kit.errors import Refused

NOT_OPEN = "This panel is not open for labels."


def practised(person: User, domain: Domain) -> int:
    """How many practice items of the domain the person has judged, in sittings that are over."""
    answers = ExamAnswer.objects.filter(
        attempt__person=person,
        attempt__domain=domain,
        attempt__is_practice=True,
        attempt__status=AttemptState.DONE,
    )
    return answers.values("item").distinct().count()


def practice_left(access: Access, panel: ReferencePanel) -> list[tuple[Domain, int]]:
    """The panel's domains of this person, each with the practice items they still owe."""
    used = panel.items.values("case__query__domain")
    domains = Domain.objects.filter(pk__in=used).filter(pk__in=access.domain_ids)
    wanted = panel.practice_items
    return [(each, max(0, wanted - practised(access.user, each))) for each in domains]


def start_practice(*, access: Access, panel: ReferencePanel, domain: Domain) -> ExamAttempt:
    """Begin, or go on with, the practice before the panel's first item of this domain."""
    if not panel.is_open:
        raise Refused(NOT_OPEN)
    return start_attempt(
        person=access.user, domain=domain, practice=True, size=panel.practice_items
    )


def labelling_domains(access: Access, panel: ReferencePanel) -> set[int]:
    """Keys of the domains in which the person may label: exam passed and practice done."""
    if not access.is_annotator or not panel.is_open:
        return set()
    may_vote = voting_domains(access)
    left = practice_left(access, panel)
    return {domain.pk for domain, owed in left if not owed and domain.pk in may_vote}
