"""A scratch benchmark of cases to vote on: `python -m tests.bench.votes_data CASES PEOPLE REVEAL`
prints the people's tokens; `... check` says what became of it."""

import json
import sys
from random import Random
from typing import Any

import django

SLUG = "votes"
_WORDS, _BATCH = 150, 2_000


def fill(cases: int, people: int, reveal: str) -> dict[str, Any]:
    """So many cases of so many queries; people who vote, with a token each."""
    from django.contrib.auth.models import User

    from annotate.models import EscalationCase, VoteSlot, VotingPlan
    from corpus.benchmarks.services import create_benchmark
    from corpus.models import CorpusVersion, Domain, Membership, Passage, Query
    from kit.database.bulk import analyze
    from tests.factories import make_token

    benchmark = create_benchmark(name="Votes", slug=SLUG, actor=None)
    domain = Domain.objects.create(benchmark=benchmark, name="general", is_ready=True)
    version = CorpusVersion.objects.filter(benchmark=benchmark).first()
    if version is None:
        version = CorpusVersion.objects.create(benchmark=benchmark, name="bench", state="ready")
        version.layers = [version.pk]
        version.save()
    chance = Random(20261121)
    words = ["".join(chance.choices("aeioulmnrst", k=chance.randint(2, 9))) for _ in range(6000)]
    # One query a case, as in the peers' tasks.
    queries = Query.objects.bulk_create(
        (
            Query(
                domain=domain, qid=str(n), text=" ".join(chance.choices(words, k=12)), answers=["x"]
            )
            for n in range(cases)
        ),
        batch_size=_BATCH,
    )
    passages = Passage.objects.bulk_create(
        (
            Passage(
                version=version,
                domain=domain,
                pid=f"p{n}",
                text=" ".join(chance.choices(words, k=_WORDS)),
            )
            for n in range(cases)
        ),
        batch_size=_BATCH,
    )
    opened = EscalationCase.objects.bulk_create(
        (
            EscalationCase(
                origin=f"debate:{n}",
                query=query,
                passage=passage,
                snapshot=_snapshot(query.text),
            )
            for n, (query, passage) in enumerate(zip(queries, passages, strict=True))
        ),
        batch_size=_BATCH,
    )
    VoteSlot.objects.bulk_create(
        (slot for case in opened for slot in case.new_slots()), batch_size=_BATCH
    )
    VotingPlan.objects.create(benchmark=benchmark, version=1, reveal=reveal)
    tokens = []
    for n in range(people):
        user = User.objects.create(username=f"u{n}")
        Membership.objects.create(user=user, benchmark=benchmark, roles=["annotator"])
        tokens.append(make_token(user))
    analyze(EscalationCase, VoteSlot, Query, Passage)
    return {"slug": SLUG, "tokens": tokens}


def look() -> dict[str, Any]:
    """Votes, and cases with more of them than their quota."""
    from collections import Counter

    from annotate.models import Vote

    counts = Counter(Vote.objects.standing().values_list("case", flat=True))
    people = Counter(Vote.objects.standing().values_list("case", "voter"))
    return {
        "votes": sum(counts.values()),
        "over quota": sum(n > 3 for n in counts.values()),
        "twice": sum(n > 1 for n in people.values()),
    }


def _snapshot(question: str) -> dict[str, Any]:
    said = [("A", "yes", "It says so in the second sentence."), ("B", "no", "It does not say why.")]
    return {
        "question": question,
        "answers": ["x"],
        "practice": False,
        "rounds": 2,
        "positions": [
            {
                "agent": agent,
                "response": response,
                "round": 2,
                "reason": reason,
                "references": [],
                "earlier": [{"round": 1, "response": response}],
            }
            for agent, response, reason in said
        ],
    }


if __name__ == "__main__":
    django.setup()
    if sys.argv[1] == "check":
        print(json.dumps(look()))
    elif sys.argv[1] == "tabs":
        from tests.voting_load import check_kept, vote_in_tabs

        given = json.loads(sys.stdin.read())
        done = vote_in_tabs(given["url"], SLUG, given["tokens"], tabs=int(sys.argv[2]))
        check_kept(done)
        print(json.dumps({"given": len(done.given), "refused": done.answers[409]}))
    else:
        print(json.dumps(fill(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
