"""Storing how pairs ended: once each, label and case in the same transaction.

Keeping the flags of turns where a list can be filtered by them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db.models import prefetch_related_objects
from django.utils import timezone
from django.utils.crypto import salted_hmac

from annotate.models import Aspect, SupportLabel
from annotate.support.services import record_support
from corpus.judgments.services import lock_queries, record_judgments
from corpus.models import Judgment, Source, Status
from debate import dream
from debate.baselines.relevance import CONFIDENCE_ROLE, VERBALISED
from debate.dream import ADJUDICATOR
from debate.escalation import escalate, kinds_of, quote_row
from debate.models import LABELLED, Debate, DebateFlag, DebateRun, DebateStatus, RunKind, Turn
from debate.runs.kinds import config_of
from kit.database.bulk import update_rows
from llm.errors import LLMError


def note_flags(run: DebateRun, turns: Iterable[Turn]) -> None:
    """Note what these stored turns are flagged with, in place of what was noted of their debates.

    In the transaction that stores the turns.
    """
    turns = list(turns)
    DebateFlag.objects.filter(debate__in={turn.debate_id for turn in turns}).delete()
    found = {(turn.debate_id, flag) for turn in turns for flag in turn.flags}
    DebateFlag.objects.bulk_create(
        DebateFlag(run=run, debate_id=debate, flag=flag) for debate, flag in sorted(found)
    )


# Whose labels a run of each kind makes; an adjudicator's are its own.
SOURCES = {
    RunKind.DEBATE: Source.DEBATE,
    RunKind.FILTER: Source.FILTER,
    RunKind.LLMJUDGE: Source.LLMJUDGE,
    RunKind.GRADED: Source.LLMJUDGE,
    RunKind.VOTE: Source.LLMJUDGE,
    RunKind.LARA: Source.LARA,
}
# The class of a debate that failed although nothing was asked.
_NO_TEXT: Final = "no_text"
_ENDED: Final = (
    "status",
    "label",
    "round",
    "error",
    "error_class",
    "ended_at",
    "judgment",
    "support",
    "case",
    "is_decoy",
)


@dataclass(frozen=True)
class Outcome:
    """A verdict on one debate, with the ledger call behind each (round, agent) turn.

    `failure` is set where a call brought no answer; `replaced` names the model that answered a
    turn where the agent's own would not. Of an aspect `asked` is the text and version that the
    models read: its author may have written it anew since.
    """

    debate_id: int
    verdict: dream.Verdict
    calls: Mapping[tuple[int, str], int] = field(default_factory=dict)
    failure: LLMError | None = None
    replaced: Mapping[tuple[int, str], str] = field(default_factory=dict)
    asked: tuple[str, int] | None = None


def store_outcomes(*, run: DebateRun, outcomes: Sequence[Outcome]) -> int:
    """Write a group of outcomes, in the transaction of a caller who has locked their groups.

    An outcome whose debate has one already is passed over; returns how many are the first.
    """
    ended = _still_waiting(run, outcomes)
    lock_queries(debate.query_id for debate, _ in ended)
    for debate, outcome in ended:
        _end(debate, outcome)
    _label_all(run, ended)
    _escalate_all(run, ended)
    update_rows([debate for debate, _ in ended], _ENDED)
    turns = [turn for pair in ended for turn in _turns(*pair)]
    Turn.objects.bulk_create(turns)
    note_flags(run, turns)
    return len(ended)


def _still_waiting(run: DebateRun, outcomes: Sequence[Outcome]) -> list[tuple[Debate, Outcome]]:
    """The outcomes that are the first of their debate, with it."""
    by_debate = {outcome.debate_id: outcome for outcome in reversed(outcomes)}
    debates = Debate.objects.waiting().filter(pk__in=by_debate)
    if run.pool.of_aspects:
        debates = debates.select_related("aspect__query__domain__benchmark", "passage")
    ended = [(debate, by_debate[debate.pk]) for debate in debates]
    for debate, outcome in ended:
        debate.run = run  # which is at hand, and read by nobody again for each debate
        if debate.aspect is not None and outcome.asked is not None:
            # In memory: label and case are about what was asked.
            debate.aspect.content, debate.aspect.version = outcome.asked
    return ended


def _end(debate: Debate, outcome: Outcome) -> None:
    """Move the debate out of waiting, in memory."""
    verdict = outcome.verdict
    debate.status = DebateStatus(verdict.status)
    debate.label, debate.round = verdict.label, verdict.round
    debate.error, debate.ended_at = verdict.detail, timezone.now()
    if debate.status in (DebateStatus.FAILED, DebateStatus.REFUSED):
        failure = outcome.failure
        debate.error_class = failure.error_class.value if failure else _NO_TEXT


def _label_all(run: DebateRun, ended: Sequence[tuple[Debate, Outcome]]) -> None:
    if run.reheard_of_id:  # what agents say once people were heard is compared, and no label
        return
    # Whether a model gave the label: what garbage was coerced to is compared, and no label.
    given = [
        (debate, outcome)
        for debate, outcome in ended
        if debate.status in LABELLED and any(turn.response for turn in outcome.verdict.turns)
    ]
    for debate, outcome in given:
        # Labels of support know no trial: what does not count is not given.
        if debate.aspect is not None and not run.is_provisional:
            debate.support = _support(debate, debate.aspect, outcome)
    labelled = [
        (debate, _label(debate, outcome)) for debate, outcome in given if debate.aspect is None
    ]
    record_judgments(labels=[label for _, label in labelled], scope=run.benchmark.slug)
    for debate, label in labelled:
        debate.judgment = label


def _escalate_all(run: DebateRun, ended: Sequence[tuple[Debate, Outcome]]) -> None:
    """Bring before people what the models could not settle."""
    if run.is_provisional:
        return
    kinds = kinds_of(run.config.get("on_refusal"))
    disputed = [pair for pair in ended if pair[0].status in kinds]
    prefetch_related_objects(
        [debate for debate, _ in disputed], "query__domain__benchmark", "passage"
    )
    _choose_fillers(run, [debate for debate, _ in disputed])
    for debate, outcome in disputed:
        debate.case = escalate(debate, outcome.verdict)


def _choose_fillers(run: DebateRun, debates: Sequence[Debate]) -> None:
    """Mark which of these disputes are shown from the passage alone, in memory.

    About every second one until the run has as many as it wants; which, only the server's key
    tells. For a caller that stores the debates in the same transaction.
    """
    fillers = config_of(run).decoys if run.kind == RunKind.DEBATE else 0
    if not fillers:
        return
    # Whoever else ends debates of this run waits for its row: they must count these, too.
    DebateRun.objects.select_for_update().get(pk=run.pk)
    left = fillers - run.debates.filter(is_decoy=True).count()
    for debate in debates:
        disputed = debate.status == DebateStatus.ESCALATED
        if left > 0 and disputed and _coin(run, debate):
            debate.is_decoy = True
            left -= 1


def _coin(run: DebateRun, debate: Debate) -> bool:
    of = f"{run.pk}:{debate.pk}"
    code = salted_hmac("debate.decoys", of, secret=settings.SEED_KEY, algorithm="sha256")
    return bool(code.digest()[0] & 1)


def _label(debate: Debate, outcome: Outcome) -> Judgment:
    """The unsaved label of a debate."""
    verdict = outcome.verdict
    assert verdict.label is not None  # by its status; the database checks it too
    return Judgment(
        query_id=debate.query_id,
        passage_id=debate.passage_id,
        label=verdict.label,
        source=_source(debate),
        round=verdict.round,
        practice=debate.run.practice,
        provenance=_provenance(debate, outcome),
        status=Status.TRIAL if debate.run.is_provisional else Status.STANDING,
    )


def _support(debate: Debate, aspect: Aspect, outcome: Outcome) -> SupportLabel:
    """What the agents agreed on of an aspect, stored: no label of the pair."""
    assert outcome.verdict.label is not None  # by its status
    return record_support(
        aspect=aspect,
        passage=debate.passage,
        label=outcome.verdict.label,
        source=_source(debate),
        round=outcome.verdict.round,
        practice=debate.run.practice,
        provenance=_provenance(debate, outcome),
    )


def _source(debate: Debate) -> Source:
    if debate.status == DebateStatus.ADJUDICATED:
        return Source.LLM_ADJUDICATOR
    return SOURCES[RunKind(debate.run.kind)]


def _provenance(debate: Debate, outcome: Outcome) -> dict[str, Any]:
    """Which run and models a label comes from; with a judge's grades, and of several votes the
    share that gave the label."""
    run, verdict = debate.run, outcome.verdict
    found: dict[str, Any] = {
        "debate": debate.pk,
        "run": run.pk,
        "model": run.model,
        "prompt_sha256": run.prompt_sha256,
    }
    models = [choice["model"] for choice in run.model_choices]
    scores = [turn.score for turn in verdict.turns if turn.score is not None]
    if len(set(models)) > 1:
        found["models"] = models
    if scores:
        found["scores"] = scores
    if run.kind == RunKind.VOTE:
        labels = [turn.label for turn in verdict.turns]
        found["share"] = labels.count(verdict.label) / len(labels)
    if outcome.replaced:
        found["instead"] = {f"r{n}:{agent}": m for (n, agent), m in outcome.replaced.items()}
    return found


def _turns(debate: Debate, outcome: Outcome) -> list[Turn]:
    return [
        Turn(
            debate=debate,
            round=turn.round,
            agent=turn.agent,
            stance=turn.stance,
            response=turn.response or "",
            label=turn.label,
            reason=turn.reason,
            references=[quote_row(quote) for quote in turn.references],
            flags=[
                *turn.flags,
                *(["other_model"] if (turn.round, turn.agent) in outcome.replaced else []),
            ],
            rung=turn.rung,
            score=turn.score,
            prompt_sha256=_prompt(debate.run, turn),
            call_id=outcome.calls.get((turn.round, turn.agent)),
        )
        for turn in outcome.verdict.turns
    ]


def _prompt(run: DebateRun, turn: dream.Turn) -> str:
    """The prompt of a turn, where it is not the run's main one."""
    role = ""
    if turn.agent == ADJUDICATOR:
        role = "aspect_adjudication" if run.pool.of_aspects else "adjudication"
    if VERBALISED in turn.flags:
        role = CONFIDENCE_ROLE
    return str(run.config.get("prompts", {}).get(role, run.prompt_sha256))
