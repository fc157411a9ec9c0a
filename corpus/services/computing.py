"""Verbs on computations: a retrieval run made here, seen by nobody until it is whole."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, transaction

from corpus.models import Benchmark, CorpusVersion, Domain, RankedList, RetrievalRun, RunComputation
from corpus.models.computations import Method
from corpus.services import computing_config
from corpus.services.computing_corpus import read_corpus
from corpus.services.computing_methods import Asked, Job, Ranked, fused, rank
from corpus.services.computing_vectors import Asking
from corpus.services.loading_context import unused_name
from kit import audit
from kit.bulk import copy_rows
from kit.errors import Refused
from kit.pulse import Pulse
from kit.runs import LostLease, RunStatus, Stopping, wake
from llm import endpoints
from llm.endpoints import EndpointError, UnknownEndpoint
from llm.errors import LLMError, OverBudget
from llm.models import Account, to_units
from llm.prices import PriceError, UnknownPrice

logger = logging.getLogger(__name__)
_COLUMNS = ("run_id", "query_id", "pids", "scores")
_LISTS = 50
BROKEN = "The computation stopped because of a fault in the program; see the log."
NO_ROOM = "The budget of ${usd} has no room for the next call. Raise it, then try again."
_SETUP = (UnknownEndpoint, EndpointError, UnknownPrice, PriceError)


def start(
    *,
    benchmark: Benchmark,
    method: str,
    config: dict[str, Any] | None = None,
    name: str = "",
    budget_usd: Decimal | None = None,
    actor: User | None,
    claimed: bool = False,
) -> RunComputation:
    """Ask for a retrieval run by this method; `claimed` keeps it for the calling process.

    Raises Refused, naming the field, for a setting that cannot be, a name that is taken, and a
    benchmark without anything to rank.
    """
    frozen = computing_config.freeze(benchmark, method, config or {})
    computing_config.check_budget(frozen, budget_usd)
    names = dict(RetrievalRun.objects.filter(benchmark=benchmark).values_list("pk", "name"))
    taken = {*names.values(), *_under_way(benchmark)}
    if name.strip() in taken:
        raise Refused(f"There is a retrieval run named {name.strip()!r} already.", field="name")
    name = name.strip() or unused_name(computing_config.title(frozen, names)[:190], taken)
    _check_corpus(benchmark, method)
    is_practice = method == Method.EMBEDDINGS and endpoints.get(frozen["endpoint"]).is_practice
    with transaction.atomic():
        computation = RunComputation.objects.create(
            benchmark=benchmark,
            name=name[:200],
            method=method,
            config=frozen,
            practice=is_practice or _is_of_practice(frozen),
            budget_usd=budget_usd,
            created_by=actor,
        )
        _open_account(computation)
        _note(computation, "start retrieval run", actor)
        if claimed:
            computation.claim()
        else:
            wake(computation)
    return computation


def cancel(*, computation: RunComputation, actor: User | None) -> None:
    """Stop it; nothing but the index is kept. Raises Refused where it is over."""
    with transaction.atomic():
        if not computation.move(RunStatus.CANCELLED):
            raise Refused("This computation is over already.")
        _note(computation, "cancel retrieval run", actor)


def retry(*, computation: RunComputation, actor: User | None) -> None:
    """Try a failed one again; what was paid for is not paid again. Raises Refused."""
    with transaction.atomic():
        if not computation.move(RunStatus.QUEUED, sources=[RunStatus.FAILED], error=""):
            raise Refused("Only a computation that failed can be tried again.")
        _note(computation, "retry retrieval run", actor)
        wake(computation)


def set_budget(*, computation: RunComputation, usd: Decimal | None, actor: User | None) -> None:
    """Another limit for what it may spend; None lifts it. Raises Refused."""
    computing_config.check_budget(computation.config, usd)
    with transaction.atomic():
        limit = None if usd is None else to_units(usd)
        Account.objects.filter(pk=computation.account_id or 0).update(limit_units=limit)
        RunComputation.objects.filter(pk=computation.pk).update(budget_usd=usd)
        computation.budget_usd = usd
        _note(computation, "set budget of retrieval run", actor)


def carry_out(computation: RunComputation) -> None:
    """Compute a claimed run and turn whatever goes wrong into its state, in plain words."""
    try:
        _compute(computation)
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
        _fail(computation, f"{error.endpoint or 'The endpoint'}: {error.message}")
    except _SETUP as error:
        _fail(computation, str(error))
    except Exception:
        logger.exception("computation %s", computation.pk)
        _fail(computation, BROKEN)


def _compute(computation: RunComputation) -> None:
    try:
        with Pulse(computation) as pulse:
            draft = _Draft(computation, pulse)
            draft.fill()
        draft.show()
    finally:
        # Its own lists alone: by now another worker may have begun anew.
        _forget(computation.run_id)


@dataclass
class _Draft:
    """The lists of a computation while they are written."""

    computation: RunComputation
    pulse: Pulse
    lists: dict[tuple[str, str], str] = field(default_factory=dict)
    depth: int = 0
    report: dict[str, Any] = field(default_factory=lambda: {"domains": {}})
    done: int = 0
    total: int = 0

    def fill(self) -> None:
        """Rank every ready domain."""
        computation = self.computation
        self._begin()
        domains = list(computation.benchmark.domains.ready().order_by("name"))
        self.total = sum(domain.queries.count() for domain in domains)
        asking = _asking(computation)
        for domain in domains:
            self._tell()
            if computation.method == Method.HYBRID:
                config = computation.config
                lists = fused(domain, config["runs"], config["weights"], config["depth"])
                self.report["domains"][domain.name] = {"scheme": "min-max"}
            else:
                lists = self._ranked(domain, asking)
            self._write(domain, lists)
        if asking is not None:
            self.report["cut_texts"] = asking.cut
        if not self.lists:
            raise Refused("No query was ranked: none has a text, or no list came back.")

    def show(self) -> None:
        """The run as it will be seen, and the end of the computation, in one transaction."""
        computation, run = self.computation, self.computation.run
        assert run is not None
        with transaction.atomic():
            named = RetrievalRun.objects.filter(benchmark=run.benchmark, name=run.name)
            if named.exists():
                raise Refused(f"A run named {run.name} came in meanwhile. Choose another name.")
            RetrievalRun.everything.filter(pk=run.pk).update(
                is_ready=True,
                digest=hashlib.sha256(json.dumps(sorted(self.lists.items())).encode()).hexdigest(),
                query_count=len(self.lists),
                depth=self.depth,
                provenance=_provenance(computation, self.report),
            )
            computation.finish(report=self.report, done=self.total, total=self.total)
            _note(computation, "compute retrieval run", None, run=run.pk)

    def _begin(self) -> None:
        computation = self.computation
        _forget(computation.run_id)
        with transaction.atomic():
            run = RetrievalRun.everything.create(
                benchmark=computation.benchmark, name=computation.name, is_ready=False
            )
            computation.hold(run=run)

    def _ranked(self, domain: Domain, asking: Asking | None) -> Iterator[Ranked]:
        queries = list(domain.queries.order_by("pk").only("text", "excluded_ids"))
        asked = [Asked(q.pk, q.text, q.excluded_ids) for q in queries if q.text.strip()]
        counts: dict[str, Any] = {
            "queries": len(queries),
            "queries_without_text": len(queries) - len(asked),
        }
        self.report["domains"][domain.name] = counts
        if not asked:
            return iter(())
        before = self.done

        def step(done: int) -> None:
            self.pulse.step(before + done, self.total)

        corpus = read_corpus(self.computation.benchmark, domain, step=lambda _: self._tell())
        counts |= {"passages": len(corpus.pids), "corpus": corpus.digest}
        if not corpus.pids:
            raise Refused(f"The domain {domain.name} has queries but no passage with a text.")
        self.total += len(corpus.pids)
        config = self.computation.config
        job = Job(corpus, asked, config, config["depth"], step, asking)
        lists, was_there = rank(job)
        counts["index_was_kept"] = was_there
        self.done += len(corpus.pids)
        return lists

    def _write(self, domain: Domain, lists: Iterator[Ranked]) -> None:
        qids = dict(domain.queries.values_list("pk", "qid"))
        waiting: list[Ranked] = []
        for each in lists:
            waiting.append(each)
            self._note(domain.name, qids[each[0]], each)
            if len(waiting) >= _LISTS:
                self._flush(waiting)
        self._flush(waiting)
        self.done += len(qids) - sum(key[0] == domain.name for key in self.lists)

    def _note(self, domain: str, qid: str, ranked: Ranked) -> None:
        _, pids, scores = ranked
        ranking = json.dumps([pids, scores]).encode()
        self.lists[domain, qid] = hashlib.sha256(ranking).hexdigest()
        self.depth = max(self.depth, len(pids))

    def _flush(self, waiting: list[Ranked]) -> None:
        assert self.computation.run is not None
        run = self.computation.run.pk
        rows = [(run, pk, json.dumps(pids), json.dumps(scores)) for pk, pids, scores in waiting]
        with transaction.atomic():
            copy_rows(RankedList, _COLUMNS, rows)
        self.done += len(waiting)
        waiting.clear()
        self._tell()

    def _tell(self) -> None:
        self.pulse.step(self.done, self.total)


def _asking(computation: RunComputation) -> Asking | None:
    if computation.method != Method.EMBEDDINGS:
        return None
    config = computation.config
    return Asking(
        endpoint=endpoints.get(config["endpoint"]),
        model=config["model"],
        subject=f"run-computation:{computation.pk}",
        account_id=computation.account_id,
        must_be_priced=computation.budget_usd is not None,
        dimensions=config["dimensions"],
    )


def _provenance(computation: RunComputation, report: dict[str, Any]) -> dict[str, Any]:
    return {
        "computation": computation.pk,
        "label": f"computed here: {computation.get_method_display()}",
        "method": computation.method,
        "config": computation.config,
        "practice": computation.practice,
        **report,
    }


def _forget(run: int | None) -> None:
    """Lists that were begun and not finished; nobody has ever seen them."""
    RetrievalRun.everything.filter(pk=run or 0, is_ready=False).delete()


def _fail(computation: RunComputation, message: str) -> None:
    try:
        with transaction.atomic():
            computation.finish(status=RunStatus.FAILED, error=message)
            _note(computation, "fail retrieval run", None, error=message)
    except LostLease:
        logger.info("computation %s was stopped or taken over", computation.pk)


def _under_way(benchmark: Benchmark) -> Sequence[str]:
    live = (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.PAUSED)
    rows = RunComputation.objects.filter(benchmark=benchmark, status__in=live)
    return list(rows.values_list("name", flat=True))


def _check_corpus(benchmark: Benchmark, method: str) -> None:
    if method == Method.HYBRID:
        return
    if CorpusVersion.objects.current(benchmark) is None:
        raise Refused("There are no passages to rank yet. Import some first.")


def _is_of_practice(config: dict[str, Any]) -> bool:
    if config["method"] != Method.HYBRID:
        return False
    runs = RetrievalRun.objects.filter(pk__in=config["runs"])
    return any(run.provenance.get("practice") for run in runs)


def _open_account(computation: RunComputation) -> None:
    if computation.method != Method.EMBEDDINGS:
        return
    usd = computation.budget_usd
    computation.account = Account.objects.create(
        name=f"retrieval run {computation.pk}",
        limit_units=None if usd is None else to_units(usd),
    )
    computation.save(update_fields=["account"])


def _note(computation: RunComputation, verb: str, actor: User | None, **data: Any) -> None:
    audit.record(
        actor=actor,
        verb=verb,
        target=computation,
        scope=computation.benchmark.slug,
        data={"name": computation.name, "method": computation.method, **data},
    )
