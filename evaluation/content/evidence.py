"""What each label that stands was made from: agents' answers, people's votes, experts' verdicts.

Written with the provenance, so that `verify_release` needs no database. People are pseudonyms
that hold within one release.
"""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from django.conf import settings

from annotate.models import Adjudication, SupportLabel, Vote
from corpus.judgments.models import PEOPLE, Source
from corpus.judgments.services import assessors, first_row
from corpus.models import Domain, Judgment
from debate.models import Debate, DebateRun, RunKind, Turn
from debate.runs.kinds import config_of
from evaluation.content.inherited_view import outweighed
from evaluation.content.reviewed import reviews_of
from evaluation.content.unconfirmed import NOTHING, Unconfirmed
from evaluation.content.view import View
from evaluation.exporters.records import QueryRecord

_CHUNK = 500
Pseudonym = Callable[[int], str]


def pseudonyms(slug: str, version: str) -> Pseudonym:
    """Names of people in one release: the same whenever it is built, another in every other.

    Salted by the server's secret, which no release holds: a name leads back to nobody.
    """
    secret = settings.SEED_KEY.encode()
    salt = hmac.digest(secret, f"release people\0{slug}\0{version}".encode(), "sha256")

    def name(user: int) -> str:
        return f"p-{hmac.new(salt, str(user).encode(), hashlib.sha256).hexdigest()[:12]}"

    return name


def read_evidence(view: View, domain: Domain, name: Pseudonym) -> Iterator[dict[str, Any]]:
    """One row for each label that stands, in the order of queries and passages."""
    rows = view.labels(domain).standing(view.left_out.labels)
    if view.is_derived:
        rows = rows.exclude(pk__in=outweighed(view, domain))
    ordered = rows.order_by("query_id", "passage_id").select_related("query", "passage")
    found = ordered.defer("query__text", "passage__text").iterator(chunk_size=_CHUNK)
    while chunk := list(islice(found, _CHUNK)):
        yield from _of(chunk, name, view.left_out)


def evidence_of(
    keys: Collection[int], name: Pseudonym, left_out: Unconfirmed = NOTHING
) -> dict[int, dict[str, Any]]:
    """The same rows for labels of any corpus version, by their keys."""
    rows = Judgment.objects.filter(pk__in=keys).order_by("pk").select_related("query", "passage")
    found = list(rows.defer("query__text", "passage__text"))
    return {label.pk: row for label, row in zip(found, _of(found, name, left_out), strict=True)}


def _of(
    labels: Sequence[Judgment], name: Pseudonym, left_out: Unconfirmed
) -> Iterator[dict[str, Any]]:
    debates = _debates(labels)
    votes = _votes(labels, name)
    experts = _experts(labels)
    settled = _settled(labels)
    reviews = reviews_of(labels, name, left_out)
    for label in labels:
        row: dict[str, Any] = {
            "query_id": label.query.qid,
            "passage_id": label.passage.pid,
            "label": label.label,
            "source": label.source,
        }
        given = label.provenance
        if label.source == Source.EXPERT:
            row |= {"rule": given.get("rule", "expert")}
            row |= {part: name(actor) for part, actor in experts.get(label.pk, {}).items()}
            # What a third person settled, or each expert's own label of a reference panel.
            row |= _listed(given, votes) if _vote_ids(given) else {}
            if first_row(label) in settled:
                row |= {"decision": settled[first_row(label)]}
            if (review := reviews.get((label.query_id, label.passage_id))) is not None:
                row |= {"review": review}
        elif label.source == Source.HUMAN:
            row |= {"rule": given.get("rule", ""), **_listed(given, votes)}
        else:
            row |= debates.get(given.get("debate"), {"rule": "", "turns": []})
        yield row


def read_machine_evidence(
    queries: Sequence[QueryRecord], name: Pseudonym
) -> Iterator[dict[str, Any]]:
    """One row for each passage of machine gold, in the order of queries and aspects."""
    told = [(q, a.k, each) for q in queries for a in q.aspects for each in a.machine]
    while chunk := told[:_CHUNK]:
        told = told[_CHUNK:]
        known = SupportLabel.objects.select_related("passage__version").defer("passage__text")
        labels = known.in_bulk([each.key for _, _, each in chunk])
        debates, votes = _debates(labels.values()), _votes(labels.values(), name)
        firsts = {pk: first_row(label) for pk, label in labels.items()}  # type: ignore[arg-type]
        settled = Adjudication.objects.filter(support__in=firsts.values())
        decided = {pk: rest for pk, *rest in settled.values_list("support", "adjudicator", "label")}
        for query, k, each in chunk:
            label = labels[each.key]
            row: dict[str, Any] = {
                "query_id": query.qid,
                "passage_id": each.passage,
                "aspect": k,
                "label": label.label,
                "source": label.source,
            }
            if label.passage_id != each.passage_pk:
                # A cleaned version has it from there.
                origin = label.passage
                row |= {"given_for": origin.pid, "version": origin.version.name}
            given = label.provenance
            if label.source in PEOPLE:
                row |= {"rule": given.get("rule", ""), **_listed(given, votes)}
                person, decision = decided.get(firsts[each.key], (None, None))
                if person is not None:
                    row |= {"person": name(person), "decision": decision}
            else:
                row |= debates.get(given.get("debate"), {"rule": "", "turns": []})
            yield row


# Labels of pairs and labels of support have the columns that are read here.
_Labels = Iterable[Judgment] | Iterable[SupportLabel]


def _debates(labels: _Labels) -> dict[Any, dict[str, Any]]:
    keys = {key for each in labels if isinstance(key := each.provenance.get("debate"), int)}
    turns: dict[int, list[dict[str, Any]]] = {pk: [] for pk in keys}
    rows = Turn.objects.filter(debate__in=keys).order_by("debate", "round", "agent")
    columns = ("debate_id", "round", "agent", "response", "label", "score")
    for debate, round_number, agent, response, label, score, answer, tokens in rows.values_list(
        *columns, "call__text", "call__logprobs"
    ):
        turns[debate].append(
            {
                "round": round_number,
                "agent": agent,
                "response": response,
                "label": label,
                **({} if score is None else {"score": score}),
                "answer": answer,
                **({} if tokens is None else {"logprobs": tokens}),
            }
        )
    outcomes = Debate.objects.filter(pk__in=keys).select_related("run")
    return {
        debate.pk: {
            "rule": "adjudicated" if debate.status == "adjudicated" else debate.run.kind,
            **_settings(debate.run),
            "round": debate.round,
            "turns": turns[debate.pk],
        }
        for debate in outcomes.defer("error", "measures")
    }


def _settings(run: DebateRun) -> dict[str, Any]:
    """What else a label of this run follows from: a threshold, or the course of the whole run."""
    if run.kind == RunKind.GRADED:
        config = config_of(run)
        return {"threshold": config.threshold, "parser": config.profile}
    return {"course": run.pk} if run.kind == RunKind.LARA else {}


def _votes(labels: _Labels, name: Pseudonym) -> dict[int, tuple[str, dict[str, Any]]]:
    """By key the link of each vote, and what a release says of it."""
    keys = {pk for each in labels for pk in _vote_ids(each.provenance)}
    columns = ("pk", "link", "voter_id", "label", "guideline")
    return {
        pk: (link, {"person": name(voter), "label": label, "guideline_version": guideline})
        for pk, link, voter, label, guideline in Vote.objects.filter(pk__in=keys).values_list(
            *columns
        )
    }


def _listed(given: dict[str, Any], votes: dict[int, tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The votes, and as `head` how far the chain of their case had come with the last of them."""
    keys = sorted(pk for pk in _vote_ids(given) if pk in votes)
    # By pseudonym: in the order of their keys the votes would tell who voted first.
    found = sorted((votes[pk][1] for pk in keys), key=lambda vote: vote["person"])
    return {"votes": found, **({"head": votes[keys[-1]][0]} if keys else {})}


def _vote_ids(given: dict[str, Any]) -> list[int]:
    ids = given.get("votes")
    return [pk for pk in ids if isinstance(pk, int)] if isinstance(ids, list) else []


def _settled(labels: Sequence[Judgment]) -> dict[int, int | None]:
    """What third persons decided, by the row that their label began as."""
    firsts = {first_row(each) for each in labels if each.source == Source.EXPERT}
    return dict(Adjudication.objects.filter(judgment__in=firsts).values_list("judgment", "label"))


def _experts(labels: Sequence[Judgment]) -> dict[int, dict[str, int]]:
    """Of each expert's label `person`, who judged, and `restored_by`, who let it stand again."""
    found = assessors(each for each in labels if each.source == Source.EXPERT)
    return {
        pk: {part: actor for part, actor in each.items() if actor is not None}
        for pk, each in found.items()
    }
