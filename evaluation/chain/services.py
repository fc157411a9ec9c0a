"""Verbs of a chain: starting it, and taking it as far as it goes now."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from typing import Any, Final

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from corpus.lists import unused_name
from corpus.models import Benchmark
from evaluation.background import failures_in_row
from evaluation.chain.effects import CALLS, PEOPLE, measured, measured_before, metric_asked
from evaluation.chain.here import Here
from evaluation.chain.labelling import cost_of_experts, cost_of_votes
from evaluation.chain.models import Chain, ChainStep, StepState
from evaluation.chain.plan import PlannedStep, read_plan
from evaluation.chain.records import SOURCE, calls_of, origin_of, record_of
from evaluation.chain.source import source
from evaluation.chain.steps import KINDS, problem_of
from evaluation.exporters.chain import digest, input_digest
from evaluation.pipelines.models import PipelineRun
from evaluation.pipelines.services import spent as spent_by_pipeline
from evaluation.scores import sheets
from evaluation.scores.models import ScoreSheet
from evaluation.scores.sheets import request_sheet
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import RunStatus, begin, wake
from kit.runs.moves import note, resume_run
from llm.ledger.accounts import PayingRun, check_budget

BROKEN: Final = "The chain stopped because of a fault in the program; see the log. Resume it."
# How long at least until a chain looks again at people; at its runs with every look of a worker.
_LATER = 10.0
_CENT: Final = Decimal("0.01")


def start_chain(
    *,
    benchmark: Benchmark,
    plan: str,
    actor: User | None,
    name: str = "",
    budget_usd: Decimal | None = None,
    claimed: bool = False,
) -> Chain:
    """Make a chain of a plan in TOML, and wake a worker; `claimed` keeps it for this process.

    `budget_usd` is what all its steps may spend together. Raises Refused for a plan that cannot be
    carried out.
    """
    steps = read_plan(plan)
    check_budget(budget_usd, ())
    taken = benchmark.chains.values_list("name", flat=True)
    with transaction.atomic():
        chain = Chain.objects.create(
            benchmark=benchmark,
            name=unused_name(name.strip()[:190] or "Chain", taken),
            plan=plan,
            budget_usd=budget_usd,
            total=len(steps),
            created_by=actor,
        )
        ChainStep.objects.bulk_create(
            ChainStep(
                chain=chain,
                number=number,
                do=each.do,
                settings=_plain(each.settings),
                budget_usd=each.budget_usd,
            )
            for number, each in enumerate(steps, start=1)
        )
        note(chain, actor, "start chain", steps=[each.do for each in steps])
        begin(chain, claimed=claimed)
    return chain


def cancel_chain(*, run: Chain, actor: User | None) -> None:
    """Begin no further step; what the present one works on goes on, and is stopped on its page."""
    with transaction.atomic():
        over = (RunStatus.DONE, RunStatus.CANCELLED)
        sources = [each for each in RunStatus.values if each not in over]
        if not run.move(RunStatus.CANCELLED, sources=sources, waits_for=""):
            raise Refused("This chain is over already.")
        note(run, actor, "cancel chain")


def resume_chain(*, run: Chain, actor: User | None) -> None:
    """Look at once, and go on where it stopped."""
    resume_run(run=run, actor=actor, look_at=None)


def begin_again(*, run: Chain, actor: User | None) -> None:
    """Begin the present step anew, where its run was cancelled or cannot be mended.

    What it made before stays, and what that cost counts. Raises Refused where no step is under way,
    or its runs still work.
    """
    with transaction.atomic():
        if run.status in (RunStatus.DONE, RunStatus.CANCELLED):
            raise Refused("This chain is over already.")
        step = run.steps.select_for_update().exclude(state=StepState.DONE).first()
        if step is None or step.state == StepState.WAITING:
            raise Refused("No step of this chain is under way.")
        runs = step.runs()
        if any(not each.is_over and each.status != RunStatus.PAUSED for each in runs):
            raise Refused("Its runs still work. Cancel them on their page first.")
        if not went_wrong(run, step):
            raise Refused("Nothing went wrong with this step: the chain goes on with it by itself.")
        step.spent_usd += sum(map(_spent, runs), Decimal(0))
        _keep(
            step,
            state=StepState.WAITING,
            works=[],
            started_at=None,
            ended_at=None,
            spent_usd=step.spent_usd,
        )
        note(run, actor, "begin step again", step=step.number)
        run.move(RunStatus.QUEUED, sources=(RunStatus.FAILED, RunStatus.PAUSED))
        Chain.objects.filter(pk=run.pk).update(look_at=None)
        wake(run)


def change_plan(*, run: Chain, plan: str, actor: User | None) -> None:
    """Have the steps that have not begun be those of another plan; the event keeps the old one.

    Raises Refused where a step that has begun would change, or one that has cost anything would do
    something else, and for a chain that is over or that a worker has.
    """
    planned = [replace(each, settings=_plain(each.settings)) for each in read_plan(plan)]
    with transaction.atomic():
        chain = Chain.objects.select_for_update().get(pk=run.pk)  # nobody claims it meanwhile
        if chain.status in (RunStatus.DONE, RunStatus.CANCELLED):
            raise Refused("This chain is over already.")
        if chain.status == RunStatus.RUNNING:
            raise Refused("A worker has this chain at the moment. Pause it first.")
        for step in chain.steps.all():
            new = planned[step.number - 1] if step.number <= len(planned) else None
            if step.state != StepState.WAITING:
                old = PlannedStep(step.do, step.settings, step.budget_usd)
                if new != old:
                    raise Refused(f"Step {step.number} has begun: it stays as it is.", field="plan")
            elif step.spent_usd and (new is None or new.do != step.do):
                words = f"Step {step.number} has cost something: it goes on doing the same."
                raise Refused(words, field="plan")
        chain.steps.filter(number__gt=len(planned)).delete()
        waiting = {"state": StepState.WAITING}
        for number, each in enumerate(planned, start=1):
            told = {"do": each.do, "settings": each.settings, "budget_usd": each.budget_usd}
            if not chain.steps.filter(number=number, **waiting).update(**told):
                chain.steps.get_or_create(number=number, defaults=told)
        Chain.objects.filter(pk=run.pk).update(plan=plan, total=len(planned))
        note(run, actor, "change plan", before=chain.plan, steps=[each.do for each in planned])
    run.refresh_from_db()


def went_wrong(run: Chain, step: ChainStep) -> bool:
    """Whether the runs of a step cannot go on, or the chain was refused what they came to."""
    is_refused = step.state == StepState.RUNNING and run.status == RunStatus.FAILED
    return is_refused or (step.state != StepState.MEASURING and problem_of(step.runs()) != "")


def set_chain_budget(*, run: Chain, usd: Decimal | None, actor: User | None) -> None:
    """What its steps may spend together, from the next step on."""
    check_budget(usd, ())
    with transaction.atomic():
        Chain.objects.filter(pk=run.pk).update(budget_usd=usd)
        note(run, actor, "set budget", usd=None if usd is None else str(usd))
    run.budget_usd = usd


def advance(chain: Chain) -> None:
    """Take a claimed chain as far as it goes now, and give it back, or end it.

    A step begins in one transaction with its runs, so a killed worker begins nothing twice.
    """
    with failures_in_row(chain, broken=BROKEN):
        while (step := chain.steps.exclude(state=StepState.DONE).first()) is not None:
            chain.beat(done=step.number - 1)
            if words := _take(chain, step):
                is_soon = step.works or step.state == StepState.MEASURING
                chain.wait(0.0 if is_soon else _LATER, words)
                return
        chain.finish(done=chain.total, waits_for="")


def _take(chain: Chain, step: ChainStep) -> str:
    """Take a step further; what it waits for, or "" where it may be looked at again at once."""
    if step.state == StepState.WAITING:
        return _begin(chain, step)
    if step.state == StepState.MEASURING:
        if step.sheet is not None and not step.sheet.is_over:
            return "its scores"
        if _is_stale(step):
            with transaction.atomic():
                chain.hold()  # a step that another worker ended keeps the scores of its figures
                _keep(step, sheet=_request(step, here_at(step, with_own=True)))
            return ""
        return _end(chain, step)
    runs = step.runs()
    if words := problem_of(runs):
        return words
    if going := [each for each in runs if each.status != RunStatus.DONE]:
        done, total = (sum(getattr(each, name) for each in going) for name in ("done", "total"))
        is_begun = total and any(each.started_at for each in going)
        return f"its runs: {done:,} of {total:,}" if is_begun else "a worker"
    here = here_at(step)
    if words := KINDS[step.do].waits(here, step.settings):
        return words
    return _leave(chain, step, here, runs)


def _begin(chain: Chain, step: ChainStep) -> str:
    here, kind = here_at(step), KINDS[step.do]
    told = forecast_of(step.do, here, step.settings)
    begun_with = _source(chain, step, here)
    # A release tells of the step that makes it, too.
    step.started_at = timezone.now()
    step.input_sha256 = _input_of(step, {**here.left, **begun_with})
    with transaction.atomic():
        chain.hold()  # nobody begins a step of a chain that was stopped meanwhile
        works = [[each._meta.label, each.pk] for each in kind.begin(here, step.settings)]
        _keep(
            step,
            state=StepState.RUNNING,
            works=works,
            outcome=step.outcome | begun_with,
            forecast=told,
            started_at=step.started_at,
            input_sha256=step.input_sha256,
        )
    return ""


def _leave(chain: Chain, step: ChainStep, here: Here, runs: Sequence[Any]) -> str:
    with transaction.atomic():
        chain.hold()  # nobody adopts labels, or keeps pairs twice, for a chain that was stopped
        outcome = KINDS[step.do].leave(here, step.settings, runs)
        _keep(
            step,
            state=StepState.MEASURING,
            outcome=step.outcome | outcome,
            spent_usd=step.spent_usd + sum(map(_spent, runs), Decimal(0)),
            sheet=_request(step, replace(here, left={**here.left, **outcome})),
            ended_at=timezone.now(),
        )
    return ""


def _request(step: ChainStep, here: Here) -> ScoreSheet | None:
    """Scores of what the chain's systems rank: those that are there, where nothing has changed."""
    metric, version = metric_asked(step), here.ranked
    known = sheets.latest(here.benchmark, version)
    if known and sheets.is_current(known) and not (metric and sheets.lacks(known, metric)):
        return known
    with suppress(Refused):  # there is nothing to score yet
        return request_sheet(
            benchmark=here.benchmark, version=version, metric=metric, actor=here.actor
        )
    return None


def _is_stale(step: ChainStep) -> bool:
    """Whether its sheet was begun before the step was over, and labels have changed since it read
    them."""
    sheet = step.sheet
    if sheet is None or not sheet.started_at or not step.ended_at:
        return False
    return sheet.started_at < step.ended_at and not sheets.is_current(sheet)


def _end(chain: Chain, step: ChainStep) -> str:
    """Hash what the step made, and measure. Both read much and write nothing, so that others write
    meanwhile; the step is over in one statement, if the chain is still this worker's."""
    here = here_at(step, with_own=True)
    with Heartbeat(chain) as heartbeat:
        heartbeat.step(step.number - 1, chain.total)
        made = digest(KINDS[step.do].lines(here, step.runs()))
        # Where its own scores failed, older ones are those of an earlier step.
        has_failed = step.sheet is not None and step.sheet.status != RunStatus.DONE
        sheet = None if has_failed else sheets.latest(here.benchmark, here.ranked)
        figures = measured(sheet, here.left, measured_before(step))
        figures |= _cost_of_people(here, step)
        if calls := calls_of(step):
            figures[CALLS] = calls
    with transaction.atomic():
        chain.hold()
        _keep(step, state=StepState.DONE, output_sha256=made, figures=figures)
    return ""


def _cost_of_people(here: Here, step: ChainStep) -> dict[str, Any]:
    """Of votes without what steps before it counted of the same debate."""
    if step.do in ("aspects", "review") and step.started_at and step.ended_at:
        return cost_of_experts(here, step.started_at, step.ended_at)
    if step.do != "people":
        return {}
    found = cost_of_votes(here)
    for each in step.chain.steps.filter(number__lt=step.number).order_by("-number"):
        if not found or each.outcome.get("debate"):
            break
        found[PEOPLE] -= each.figures.get(PEOPLE, 0.0)
    return found


def here_at(step: ChainStep, *, with_own: bool = False) -> Here:
    """Where a step stands: what those before it left (with what it left itself), and its budget."""
    chain = step.chain
    before = list(chain.steps.filter(number__lt=step.number + with_own))
    left: dict[str, Any] = {}
    for each in before:
        left |= each.outcome
    return Here(
        benchmark=chain.benchmark,
        actor=chain.created_by,
        left=left,
        budget=_budget(chain, step),
        records=lambda: (
            [origin_of(chain, left), *map(record_of, [*before, step])] if before else []
        ),
    )


def forecast_of(do: str, here: Here, settings: Any) -> dict[str, Any]:
    """What a step is likely to take (FORETOLD); empty where nobody can say yet."""
    try:
        told = KINDS[do].forecast(here, settings)
    except Refused:
        return {}
    usd = told.get("usd")
    return told | {"usd": str(usd)} if usd is not None else told


def forecast_plan(benchmark: Benchmark, plan: str) -> list[tuple[PlannedStep, dict[str, Any]]]:
    """Each step of a plan with what it is likely to take, as far as that is known now.

    Raises Refused for a plan that cannot be carried out.
    """
    here = Here(benchmark, None)
    return [(each, forecast_of(each.do, here, each.settings)) for each in read_plan(plan)]


def _source(chain: Chain, step: ChainStep, here: Here) -> dict[str, Any]:
    """What the first step leaves before it has made anything: the hash of what was there."""
    if step.number > 1:
        return {}
    with Heartbeat(chain):
        return {SOURCE: digest(source(here))}


def _input_of(step: ChainStep, left: Mapping[str, Any]) -> str:
    before = step.chain.steps.filter(number__lt=step.number)
    outputs = [left.get(SOURCE, ""), *before.values_list("output_sha256", flat=True)]
    return input_digest(step.do, step.settings, outputs)


def _budget(chain: Chain, step: ChainStep) -> Decimal | None:
    """What is left of the step's own, but never more than is left of the chain's."""
    own = None if step.budget_usd is None else _cents(step.budget_usd - step.spent_usd)
    if chain.budget_usd is None:
        return own
    spent = chain.steps.aggregate(usd=Sum("spent_usd"))["usd"] or Decimal(0)
    rest = _cents(chain.budget_usd - spent)
    return rest if own is None else min(own, rest)


def _cents(usd: Decimal) -> Decimal:
    return max(Decimal(0), usd).quantize(_CENT, ROUND_DOWN)


def _spent(run: Any) -> Decimal:
    if isinstance(run, PipelineRun):
        return spent_by_pipeline(run)
    return run.spent_usd if isinstance(run, PayingRun) else Decimal(0)


def _plain(settings: Any) -> Any:
    """Settings as JSON keeps them: TOML has days and times, which no step takes."""
    try:
        text = json.dumps(settings, allow_nan=False)
        if "\\u0000" in text:  # which PostgreSQL cannot keep
            raise ValueError
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        raise Refused("Settings are numbers, words, lists and tables.", field="plan") from None


def _keep(step: ChainStep, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(step, name, value)
    step.save(update_fields=list(fields))
