"""A world with a pool of pairs in two domains, experts who have practised, and a panel of them."""

from typing import Any

from django.contrib.auth.models import User

from annotate.models import ExamAnswer, ExamAttempt, ExamItem, ReferenceItem, ReferencePanel
from annotate.panels import labels
from annotate.panels import services as verbs
from annotate.panels.labels import practice_left
from corpus.access import Access, enter
from tests.annotate.world import TEXT, World, make_world
from tests.factories import make_passage, make_pool, make_query

REASONS = [
    {"agent": "A", "stance": "relevant", "response": "yes", "reason": "It says so."},
    {"agent": "B", "stance": "irrelevant", "response": "no", "reason": "It leaves it open."},
]
WRITER = {"model": "small-1", "prompt_sha256": "f" * 64, "practice": False}


def make_panel_world(*, queries: int = 4, passages: int = 3, practice: int = 5) -> World:
    """So many queries in each of two domains, each with pooled passages, and a practice bank."""
    world = make_world()
    pairs = []
    for domain in ("biology", "weather"):
        for n in range(queries):
            query = make_query(world.benchmark, f"{domain[0]}{n}", domain)
            for m in range(passages):
                pid = f"{domain[0]}{n}/p{m}"
                pairs.append((query, make_passage(world.benchmark, pid, domain, text=TEXT)))
        place = world.benchmark.domains.get(name=domain)
        for n in range(practice):
            ExamItem.objects.create(
                domain=place,
                question=f"Practice {n}?",
                answers=["an answer"],
                passage="Some text.",
                label=n % 2,
                is_practice=True,
            )
    world.pool = make_pool(world.benchmark, *pairs)
    return world


def access_of(world: World, person: User) -> Access:
    """The person's place in the world's benchmark."""
    return enter(person, world.benchmark.slug)


def make_panel(world: World, *, open_it: bool = True, **values: Any) -> ReferencePanel:
    """A drawn panel; open, unless said otherwise."""
    asked: dict[str, Any] = {"name": "experts", "per_domain": 3, "shows_hints": False} | values
    panel = verbs.draw_panel(benchmark=world.benchmark, actor=world.admin, **asked)
    if open_it:
        verbs.open_panel(panel=panel, access=access_of(world, world.admin))
    return panel


def practise(world: World, panel: ReferencePanel, *people: User) -> None:
    """Sittings of these people, over and done, in every domain that they work in."""
    for person in people:
        for domain, owed in practice_left(access_of(world, person), panel):
            if owed:
                items = ExamItem.objects.usable(domain).filter(is_practice=True)
                sitting = ExamAttempt.objects.create(
                    person=person, domain=domain, is_practice=True, pass_mark=90, status="done"
                )
                ExamAnswer.objects.bulk_create(
                    ExamAnswer(attempt=sitting, item=item, label=1) for item in items
                )


def first_item(panel: ReferencePanel, domain: str = "biology") -> ReferenceItem:
    """The panel's first item of the domain."""
    rows = panel.items.select_related(
        "panel__benchmark", "case__query__domain__benchmark", "case__passage__document"
    )
    return rows.filter(case__query__domain__name=domain)[0]


def give(world: World, item: ReferenceItem, person: User, label: int | None, **more: Any) -> None:
    """Let the person label the item, as somebody who read it now."""
    fresh = ReferenceItem.objects.select_related(
        "panel__benchmark", "case__query__domain__benchmark", "case__passage"
    ).get(pk=item.pk)
    labels.label_item(item=fresh, access=access_of(world, person), label=label, **more)
    item.refresh_from_db()
    item.case.refresh_from_db()
