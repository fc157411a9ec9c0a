"""People who vote through the API as fast as they can, each in several tabs, and what must hold."""

import http.client
import json
import threading
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from annotate.models import EscalationCase, Vote, VoteSlot
from annotate.voting.models import altered_cases
from corpus.models import Judgment
from kit.models import Event


@dataclass
class Tally:
    """What the server answered to all of them."""

    given: list[int] = field(default_factory=list)
    answers: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


def vote_in_tabs(
    url: str, slug: str, tokens: Sequence[str], *, tabs: int, others: Sequence[str] = ()
) -> Tally:
    """Let every person vote in so many tabs at once until nothing waits for them.

    Their tabs take turns at the web servers `url` and `others`.
    """
    urls = [url, *others]
    tally, lock = Tally(), threading.Lock()
    start = threading.Barrier(len(tokens) * tabs)
    threads = [
        threading.Thread(
            target=_vote,
            args=(urls[tab % len(urls)], slug, token, n * tabs + tab, tally, lock, start),
        )
        for n, token in enumerate(tokens)
        for tab in range(tabs)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _vote(
    url: str,
    slug: str,
    token: str,
    number: int,
    tally: Tally,
    lock: threading.Lock,
    start: threading.Barrier,
) -> None:
    parts = urllib.parse.urlsplit(url)
    link = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=240)
    chance = Random(number)

    def ask(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
        sent = None if body is None else json.dumps(body)
        try:
            link.request(method, f"/api/b/{slug}/{path}", sent, headers)
            answer = link.getresponse()
        except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
            link.close()  # kept too long: the server let it go meanwhile
            link.request(method, f"/api/b/{slug}/{path}", sent, headers)
            answer = link.getresponse()
        text = answer.read()
        return answer.status, json.loads(text) if text else None

    start.wait()
    try:
        while True:
            status, shown = ask("GET", "cases/next/")
            if status != 200:
                with lock:
                    tally.errors.append(f"next: {status} {shown}")
                return
            if shown["case"] is None:
                return
            body = {"label": chance.randrange(2), "elapsed_ms": 1000}
            status, vote = ask("POST", f"cases/{shown['case']['id']}/votes/", body)
            with lock:
                tally.answers[status] += 1
                if status == 201:
                    tally.given.append(vote["id"])
                elif status != 409:
                    tally.errors.append(f"vote: {status} {vote}")
    except Exception as error:
        with lock:
            tally.errors.append(f"{type(error).__name__}: {error}")


def check_kept(tally: Tally) -> None:
    """Nothing over the quota, no vote lost or doubled, every label and event once."""
    assert tally.errors == []
    standing = Vote.objects.standing()
    assert sorted(tally.given) == sorted(standing.values_list("pk", flat=True))
    assert Vote.objects.count() == len(tally.given)
    pairs = Counter(standing.values_list("case", "voter"))
    assert set(pairs.values()) <= {1}
    by_case = Counter(standing.values_list("case", flat=True))
    assert max(by_case.values()) <= 3
    for case, votes, status in EscalationCase.objects.values_list("pk", "votes_in", "status"):
        assert (votes, status) == (by_case[case], "closed" if by_case[case] == 3 else "open")
    assert altered_cases(Vote.objects.order_by("case", "pk")) == []
    filled = VoteSlot.objects.exclude(vote=None)
    assert filled.count() == standing.count()
    closed = EscalationCase.objects.filter(status="closed").count()
    assert Judgment.objects.filter(source="human", status="standing").count() == closed
    assert Event.objects.filter(verb="vote").count() == standing.count()
