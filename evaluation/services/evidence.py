"""What each label that stands was made from: agents' answers, people's votes, experts' verdicts.

Written beside the provenance, so that `verify_release` needs no database. People are pseudonyms
that hold within one release.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.conf import settings

from annotate.models import Vote
from corpus.models import Domain, Judgment, Status
from corpus.models.labels import Source
from debate.models import Debate, Turn
from evaluation.services.view import View
from kit.models import Event

_CHUNK = 500
Pseudonym = Callable[[int], str]


def pseudonyms(slug: str, version: str) -> Pseudonym:
    """Names of people in one release: the same whenever it is built, another in every other.

    Salted by the server's secret, which no release holds: a name leads back to nobody.
    """
    secret = settings.SECRET_KEY.encode()
    salt = hmac.digest(secret, f"release people\0{slug}\0{version}".encode(), "sha256")

    def name(user: int) -> str:
        return f"p-{hmac.new(salt, str(user).encode(), hashlib.sha256).hexdigest()[:12]}"

    return name


def read_evidence(view: View, domain: Domain, name: Pseudonym) -> Iterator[dict[str, Any]]:
    """One row for each label that stands, in the order of queries and passages."""
    rows = view.labels(domain).filter(status=Status.STANDING).exclude(source=Source.ORIGINAL)
    ordered = rows.order_by("query_id", "passage_id").select_related("query", "passage")
    found = ordered.defer("query__text", "passage__text").iterator(chunk_size=_CHUNK)
    while chunk := list(islice(found, _CHUNK)):
        yield from _of(chunk, name)


def _of(labels: Sequence[Judgment], name: Pseudonym) -> Iterator[dict[str, Any]]:
    debates = _debates(labels)
    votes = _votes(labels, name)
    experts = _experts(labels)
    for label in labels:
        row: dict[str, Any] = {
            "query_id": label.query.qid,
            "passage_id": label.passage.pid,
            "label": label.label,
            "source": label.source,
        }
        given = label.provenance
        if label.source == Source.EXPERT:
            actor = experts.get(label.pk)
            row |= {"rule": given.get("rule", "expert")}
            row |= {"person": name(actor)} if actor else {}
        elif label.source == Source.HUMAN:
            row |= {"rule": given.get("rule", ""), "votes": _listed(given, votes)}
        else:
            row |= debates.get(given.get("debate"), {"rule": "", "turns": []})
        yield row


def _debates(labels: Sequence[Judgment]) -> dict[Any, dict[str, Any]]:
    wanted = {key for each in labels if isinstance(key := each.provenance.get("debate"), int)}
    turns: dict[int, list[dict[str, Any]]] = {pk: [] for pk in wanted}
    rows = Turn.objects.filter(debate__in=wanted).order_by("debate", "round", "agent")
    said = ("debate_id", "round", "agent", "response", "label", "score", "call__text")
    for debate, round_number, agent, response, label, score, answer in rows.values_list(*said):
        turns[debate].append(
            {
                "round": round_number,
                "agent": agent,
                "response": response,
                "label": label,
                **({} if score is None else {"score": score}),
                "answer": answer,
            }
        )
    outcomes = Debate.objects.filter(pk__in=wanted).values_list(
        "pk", "run__kind", "status", "round"
    )
    return {
        pk: {
            "rule": "adjudicated" if status == "adjudicated" else kind,
            "round": round_number,
            "turns": turns[pk],
        }
        for pk, kind, status, round_number in outcomes
    }


def _votes(labels: Sequence[Judgment], name: Pseudonym) -> dict[int, dict[str, Any]]:
    wanted = {pk for each in labels for pk in _vote_ids(each.provenance)}
    rows = Vote.objects.filter(pk__in=wanted).values_list("pk", "voter_id", "label", "guideline")
    return {
        pk: {"person": name(voter), "label": label, "guideline_version": guideline}
        for pk, voter, label, guideline in rows
    }


def _listed(given: dict[str, Any], votes: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    found = [votes[pk] for pk in _vote_ids(given) if pk in votes]
    # By pseudonym: in the order of their keys the votes would tell who voted first.
    return sorted(found, key=lambda vote: vote["person"])


def _vote_ids(given: dict[str, Any]) -> list[int]:
    ids = given.get("votes")
    return [pk for pk in ids if isinstance(pk, int)] if isinstance(ids, list) else []


def _experts(labels: Sequence[Judgment]) -> dict[int, int]:
    """Who gave each expert's label: whoever stands in the event of its recording."""
    keys = [str(each.pk) for each in labels if each.source == Source.EXPERT]
    rows = Event.objects.filter(
        target_type="corpus.judgment", target_id__in=keys, actor__isnull=False
    )
    return {
        int(key): actor for key, actor in rows.order_by("-pk").values_list("target_id", "actor")
    }
