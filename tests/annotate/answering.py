"""A query with three aspects, their gold, and people who write, review and rate its answers."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from annotate.answers.services import record_model_answer, write_answer
from annotate.models import Aspect
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from corpus.access import Access, enter
from corpus.models import Benchmark, Passage, Query
from tests.factories import make_benchmark, make_member, make_members, make_passage, make_query

TEXTS = {
    "lamps/page_1.txt": "Moths roll their backs towards the light. So they fly in loops.",
    "lamps/page_2.txt": "At night the sky is brighter than the ground.",
    "lamps/page_3.txt": "Warm air rises around a bulb. It carries small insects upwards.",
    "lamps/page_4.txt": "Street lights of a longer wavelength attract fewer insects.",
}
GOOD = (
    "Insects roll their backs towards the light and fly in loops [lamps/page_1.txt]. The sky is "
    "brighter than the ground at night. [lamps/page_2.txt] Warm air rises and carries small "
    "insects [lamps/page_3.txt][lamps/page_4.txt]."
)
OTHER = (
    "Moths fly in loops [lamps/page_1.txt]. Sky light [lamps/page_2.txt] and air "
    "[lamps/page_3.txt]."
)
MAKING = {
    "endpoint": "paper",
    "model": "gpt-5",
    "prompt_version": 1,
    "prompt_sha256": "f" * 64,
    "practice": False,
}


@dataclass
class Room:
    """`query` has aspects a1 (two passages), a2 and a3; `foreign` is gold of `other` alone."""

    benchmark: Benchmark
    author: User
    colleague: User  # another annotator
    reviewer: User
    second: User  # another reviewer
    both: User  # annotator and reviewer
    admin: User
    outsider: User  # reviewer of another domain
    query: Query
    other: Query
    aspects: list[Aspect]
    passages: dict[str, Passage]
    foreign: Passage

    def url(self, path: str) -> str:
        """Path under the benchmark."""
        return f"/b/{self.benchmark.slug}/{path}"

    def access(self, person: User) -> Access:
        """The person's place here."""
        return enter(person, self.benchmark.slug)

    def write(self, text: str = GOOD, expected: int = 0, **given):
        """An answer by the author."""
        given.setdefault("query", self.query)
        return write_answer(actor=self.author, text=text, expected=expected, **given)

    def generate(self, text: str = OTHER, query: Query | None = None):
        """An answer by a model, as a run stores it."""
        return record_model_answer(query=query or self.query, text=text, **MAKING)


def make_room(slug: str = "lamps") -> Room:
    """Two queries of one domain, one of them with everything an answer needs."""
    benchmark = make_benchmark(slug, domains=("biology", "weather"))
    author = make_member(benchmark, "author", "annotator")
    query = make_query(benchmark, "7", "biology", text="Why do insects circle a lamp?")
    other = make_query(benchmark, "8", "biology", text="Why do leaves fall?")
    passages = {
        pid: make_passage(benchmark, pid, "biology", text=text) for pid, text in TEXTS.items()
    }
    foreign = make_passage(benchmark, "leaves/page_9.txt", "biology", text="Leaves are shed.")
    aspects = [
        add_aspect(query=query, actor=author, content=f"Point {n}.", weight=weight)
        for n, weight in enumerate((5, 3, 2), 1)
    ]
    theirs = add_aspect(query=other, actor=author, content="Shedding.", weight=3)
    order = [aspects[0], aspects[1], aspects[2], aspects[2]]
    for passage, aspect in zip(passages.values(), order, strict=True):
        assign_passage(query=query, passage=passage, aspect=aspect, actor=author)
    assign_passage(query=other, passage=foreign, aspect=theirs, actor=author)
    people = {
        "colleague": ["annotator"],
        "reviewer": ["reviewer"],
        "second": ["reviewer"],
        "both": ["annotator", "reviewer"],
        "admin": ["admin"],
    }
    named = dict(zip(people, make_members(benchmark, people), strict=True))
    return Room(
        benchmark=benchmark,
        author=author,
        **named,
        outsider=make_member(benchmark, "outsider", "reviewer", domains=("weather",)),
        query=query,
        other=other,
        aspects=aspects,
        passages=passages,
        foreign=foreign,
    )
