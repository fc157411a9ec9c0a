"""Verbs on computations: a retrieval run made here, seen by nobody until it is whole."""

import logging
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction

from corpus.computing import config as computing_config
from corpus.computing.draft import Draft, forget, note
from corpus.computing.models import Method
from corpus.lists import unused_name
from corpus.models import (
    Benchmark,
    CorpusVersion,
    Query,
    QuerySource,
    RetrievalRun,
    RunComputation,
)
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import LostLease, RunStatus, Stopping, begin, wake
from llm import endpoints
from llm.errors import LLMError, OverBudget
from llm.ledger.accounts import check_budget, open_account

logger = logging.getLogger(__name__)
BROKEN = "The computation stopped because of a fault in the program; see the log."
NO_ROOM = "The budget of ${usd} has no room for the next call. Raise it, then try again."


def start(
    *,
    benchmark: Benchmark,
    method: str,
    config: dict[str, Any] | None = None,
    name: str = "",
    budget_usd: Decimal | None = None,
    version: CorpusVersion | None = None,
    actor: User | None,
    claimed: bool = False,
) -> RunComputation:
    """Ask for a retrieval run by this method; `claimed` keeps it for the calling process.

    It ranks the corpus version, by default the current one; a hybrid that of its two runs. With
    `by_document` in the config the run is of the version that this one was cut from.
    Raises Refused, naming the field, for a setting that cannot be, a name that is taken, and a
    benchmark without anything to rank.
    """
    frozen = computing_config.freeze(benchmark, method, config or {})
    ranked = version or CorpusVersion.objects.current(benchmark)
    computing_config.check_cut(frozen, ranked)
    key = _key(benchmark, frozen, version)
    made = key if frozen["method"] == Method.HYBRID else computing_config.key_of_run(frozen, ranked)
    rows = RetrievalRun.objects.filter(benchmark=benchmark, corpus_version=made)
    names = dict(rows.values_list("pk", "name"))
    taken = {*names.values(), *_under_way(benchmark, made)}
    if name.strip() in taken:
        raise Refused(f"There is a retrieval run named {name.strip()!r} already.", field="name")
    name = name.strip() or unused_name(computing_config.title(frozen, names, ranked)[:190], taken)
    is_practice = method == Method.EMBEDDINGS and endpoints.get(frozen["endpoint"]).is_practice
    with transaction.atomic():
        computation = RunComputation.objects.create(
            benchmark=benchmark,
            name=name[:200],
            method=method,
            config=frozen,
            corpus_version_id=key,
            practice=is_practice or _is_of_practice(frozen),
            budget_usd=budget_usd,
            total=Query.objects.in_benchmark(benchmark).count(),
            created_by=actor,
        )
        if budget_usd is not None:
            check_is_paid(computation)
            check_budget(budget_usd, computation.asked)
        if computation.asked:
            open_account(computation)
        note(computation, "start retrieval run", actor)
        begin(computation, claimed=claimed)
    return computation


def cancel(*, run: RunComputation, actor: User | None) -> None:
    """Stop it; nothing but the index is kept. Raises Refused where it is over."""
    with transaction.atomic():
        if not run.move(RunStatus.CANCELLED):
            raise Refused("This computation is over already.")
        note(run, "cancel retrieval run", actor)


def retry(*, run: RunComputation, actor: User | None) -> None:
    """Try a failed one again; what was paid for is not paid again. Raises Refused."""
    with transaction.atomic():
        if not run.move(RunStatus.QUEUED, sources=[RunStatus.FAILED], error=""):
            raise Refused("Only a computation that failed can be tried again.")
        note(run, "retry retrieval run", actor)
        wake(run)


def check_is_paid(computation: RunComputation) -> None:
    """Raises Refused for a method that asks no model, which no budget could limit."""
    if not computation.asked:
        raise Refused("Only embeddings cost anything.", field="budget_usd")


def run_computation(computation: RunComputation) -> None:
    """Compute a claimed run and turn whatever goes wrong into its state, in plain words."""
    try:
        try:
            with Heartbeat(computation) as heartbeat:
                draft = Draft(computation, heartbeat)
                draft.fill()
            draft.show()
        finally:
            # Its own lists alone: by now another worker may have begun anew.
            forget(computation.run_id)
    except Stopping:
        logger.info("computation %s is given back", computation.pk)
    except LostLease:
        logger.info("computation %s was stopped or taken over", computation.pk)
    except (OperationalError, InterfaceError) as error:
        logger.warning("computation %s waits for the database: %s", computation.pk, error)
    except Refused as refusal:
        _fail(computation, refusal.message)
    except OverBudget:
        _fail(computation, NO_ROOM.format(usd=computation.budget_usd))
    except LLMError as error:
        _fail(computation, error.words)
    except Exception:  # the job's outermost frame: logged, and told in the row
        logger.exception("computation %s", computation.pk)
        _fail(computation, BROKEN)


def _fail(computation: RunComputation, message: str) -> None:
    try:
        with transaction.atomic():
            computation.finish(status=RunStatus.FAILED, error=message)
            note(computation, "fail retrieval run", None, error=message)
    except LostLease:
        logger.info("computation %s was stopped or taken over", computation.pk)


def _under_way(benchmark: Benchmark, made: int | None) -> list[str]:
    """Names of the runs of a corpus version that are being computed."""
    live = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)
    rows = RunComputation.objects.filter(benchmark=benchmark, status__in=live)
    return [
        each.name
        for each in rows.select_related("corpus_version__parent")
        if computing_config.key_of_run(each.config, each.corpus_version) == made
    ]


def _key(benchmark: Benchmark, config: dict[str, Any], version: CorpusVersion | None) -> int | None:
    """The key of the corpus version that is ranked; raises Refused where there is none."""
    if config["method"] == Method.HYBRID:
        rows = RetrievalRun.objects.filter(pk__in=config["runs"])
        keys = set(rows.values_list("corpus_version", flat=True))
        if len(keys) > 1:
            raise Refused("These runs rank different corpus versions.", field="runs")
        if version is not None and version.key not in keys:
            raise Refused("The runs of this hybrid rank another corpus version.", field="version")
        return keys.pop()
    version = version or CorpusVersion.objects.current(benchmark)
    if version is None:
        raise Refused("There are no passages to rank yet. Import some first.")
    return version.key


def _is_of_practice(config: dict[str, Any]) -> bool:
    if key := config.get(computing_config.QUERIES):
        return bool(QuerySource.objects.get(pk=key).provenance.get("practice"))
    if config["method"] != Method.HYBRID:
        return False
    runs = RetrievalRun.objects.filter(pk__in=config["runs"])
    return any(run.provenance.get("practice") for run in runs)
