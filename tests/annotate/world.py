"""A small world for this room's tests: a benchmark, its people, one disputed pair."""

import re
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from annotate.models import EscalationCase, VotingPlan
from annotate.plans.services import save_plan
from annotate.voting.cases import open_case
from corpus.models import Benchmark, Passage, Query
from tests.factories import make_benchmark, make_member, make_members, make_passage, make_query

TEXT = (
    "Moths near a bulb did not fly at it. They rolled their backs to the light. Nobody knows why."
)


@dataclass
class World:
    """Who and what the tests speak of."""

    benchmark: Benchmark
    voters: list[User]
    reviewer: User
    admin: User
    outsider: User  # annotator of another domain
    stranger: User  # member of another benchmark only
    query: Query
    passage: Passage
    cases: list[EscalationCase] = field(default_factory=list)

    def case(self, **fields: Any) -> EscalationCase:
        """Another open case of the query, with a passage of its own."""
        number = len(self.cases) + 1
        passage = fields.pop("passage", None) or make_passage(
            self.benchmark, f"page/p_{number}.txt", text=TEXT
        )
        values = {"origin": f"debate:{number}", "kind": "dispute", "query": self.query} | fields
        values.setdefault("snapshot", make_snapshot())
        self.cases.append(open_case(passage=passage, **values))
        return self.cases[-1]

    def url(self, path: str) -> str:
        """Path under the benchmark."""
        return f"/b/{self.benchmark.slug}/{path}"


def make_world() -> World:
    """Three voters, a reviewer, an admin, one query with one passage."""
    benchmark = make_benchmark("garden", domains=("biology", "weather"))
    elsewhere = make_benchmark("elsewhere")
    voters = {f"annotator-{n}": ["annotator"] for n in range(1, 6)}
    others = {"reviewer": ["reviewer"], "admin": ["admin"]}
    *voting, reviewer, admin = make_members(benchmark, voters | others)
    return World(
        benchmark=benchmark,
        voters=voting,
        reviewer=reviewer,
        admin=admin,
        outsider=make_member(benchmark, "outsider", "annotator", domains=("weather",)),
        stranger=make_member(elsewhere, "stranger", "annotator", "admin"),
        query=make_query(benchmark, "12", "biology", text="Why do insects circle a lamp?"),
        passage=make_passage(benchmark, "lamps/page_3.txt", "biology", text=TEXT),
    )


def write_plan(world: World, **values: Any) -> VotingPlan:
    """Put another version of the voting plan in force."""
    version = VotingPlan.objects.current(world.benchmark).version
    return save_plan(benchmark=world.benchmark, actor=world.admin, expected=version, **values)


def in_turn(*cases: EscalationCase) -> list[EscalationCase]:
    """These cases in the order in which they come before voters."""
    return sorted(cases, key=lambda case: case.slots.all()[0].turn)


def make_snapshot(**changes: Any) -> dict[str, Any]:
    """Both positions; A quotes what stands in the passage, B what does not."""
    quote = "They rolled their backs to the light."
    start = TEXT.index(quote)
    found = {"text": quote, "start": start, "end": start + len(quote)}
    invented = {"text": "attraction remains unexplained", "start": None, "end": None}
    return {
        "question": "Why do insects circle a lamp?",
        "answers": ["They turn their backs to the light.", "They like ultraviolet."],
        "practice": False,
        "rounds": 2,
        "positions": [
            _position("A", "relevant", "yes", "It states the turning.", found),
            _position("B", "irrelevant", "no", "It leaves the reason open.", invented),
        ],
    } | changes


def _position(agent: str, stance: str, response: str, reason: str, quote: Any) -> dict[str, Any]:
    return {
        "agent": agent,
        "stance": stance,
        "response": response,
        "round": 2,
        "reason": reason,
        "references": [quote],
        "earlier": [{"round": 1, "response": response}],
    }


def signed_in(user: User) -> Client:
    """A browser of this person."""
    client = Client()
    client.force_login(user)
    return client


def hx(target: str = "") -> dict[str, str]:
    """Headers that htmx sends."""
    return {"HTTP_HX_REQUEST": "true"} | ({"HTTP_HX_TARGET": target} if target else {})


def masked(response: HttpResponse) -> str:
    """The page without what differs in every answer: CSRF tokens and nonces."""
    page = response.content.decode()
    page = re.sub(r'("csrfmiddlewaretoken" value=|"x-csrftoken": )"[^"]*"', r"\1MASKED", page)
    return re.sub(r'nonce="[^"]*"', "nonce=MASKED", page)


def apply_edits(piece: str, edits: list[tuple[int, int, str]]) -> str:
    """The text that the edits of a refined passage make of its slice."""
    parts, at = [], 0
    for place, gone, new in edits:
        parts += [piece[at:place], new]
        at = place + gone
    return "".join([*parts, piece[at:]])
