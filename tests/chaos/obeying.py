"""A run over hostile passages whose judge obeys them all, beside a run without them."""

import json
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.core.management import call_command

from tests.chaos.conftest import StubMaker
from tests.chaos.injection import passages
from tests.chaos.invariants import Outcomes, outcomes
from tests.chaos.judged import judge, pool_of
from tests.chaos.pairs import WORDS
from tests.chaos.sql import Database

# Where a run writes; all else must be as it was.
_ROOMS_WRITTEN = {"debate", "llm", "kit"}
_WRITTEN = {"corpus.Judgment", "annotate.EscalationCase", "annotate.VoteSlot"}


@dataclass
class Obeyed:
    """What both runs came to: `alone` is that of the harmless pairs by themselves."""

    alone: Outcomes
    beside: Outcomes
    texts: dict[str, str]
    obeyed: set[str]
    requests: list[dict[str, Any]]
    untouched: tuple[dict[str, int], dict[str, int]]


def obey_all(start_stub: StubMaker, database: Database, *, hostile: int, harmless: int) -> Obeyed:
    """Both runs, in this process."""
    clean = {f"c{n}": f"{' '.join(WORDS[: n % 11])} as usual, {n}." for n in range(harmless)}
    judge(pool_of(clean), start_stub())
    alone = outcomes(database)
    call_command("flush", interactive=False, verbosity=0)
    bad = {f"h{n}": text for n, (_, text) in enumerate(passages(hostile))}
    texts = _mixed(clean, bad)
    pool = pool_of(texts)
    before = _rows()
    stub = start_stub("--gullible", "--keep-bodies")
    judge(pool, stub)
    paid = stub.rows("SELECT request, fault FROM payment")
    requests = [json.loads(request) for request, _ in paid]
    obeyed = {
        pid
        for (_, fault), request in zip(paid, requests, strict=True)
        if fault == "obeyed"
        for pid in [_number(request["messages"])]
    }
    return Obeyed(alone, outcomes(database), texts, obeyed, requests, (before, _rows()))


def _mixed(clean: dict[str, str], bad: dict[str, str]) -> dict[str, str]:
    """Hostile passages spread among harmless ones, so that they are debated side by side."""
    every = max(1, len(bad) // max(1, len(clean)))
    mixed: dict[str, str] = {}
    waiting = iter(clean.items())
    for number, (pid, text) in enumerate(bad.items()):
        mixed[pid] = text
        if number % every == 0 and (following := next(waiting, None)):
            mixed[following[0]] = following[1]
    return mixed | dict(waiting)


def _number(messages: list[dict[str, str]]) -> str:
    """Which hostile passage a request is about."""
    asked = next(m["content"] for m in messages if m["role"] == "user")
    return f"h{asked.partition('in hostile passage ')[2].partition('.')[0]}"


def _rows() -> dict[str, int]:
    """Rows of every table that a run has no business with."""
    return {
        model._meta.label: model._default_manager.count()
        for model in apps.get_models()
        if model._meta.app_label not in _ROOMS_WRITTEN and model._meta.label not in _WRITTEN
    }
