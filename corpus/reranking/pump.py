"""Driving a reranking: many queries at a time, their documents read when it is their turn; and its
end, where its orders become a retrieval run like any other."""

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import Any

from django.db import transaction

from corpus.computing.searching import texts_of
from corpus.models import RerankItem, RerankRun, RerankState, RetrievalRun
from corpus.reranking import asking, rules
from corpus.reranking.probing import probe
from corpus.reranking.services import (
    ALONE,
    INTERPOLATE,
    TIE_BREAK,
    Candidates,
    candidates_of,
    is_probed,
    names_taken,
    relevant_of,
    settings_of,
)
from corpus.retrieval.toplist import scaled
from corpus.runs.writing import failed_first, write_run
from kit.runs.models import RunGroup
from kit.runs.moves import note
from kit.runs.sharing import Share
from llm import endpoints
from llm.client import Client
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.profiles import likely_tokens
from llm.pump import Pump, carry, readable
from llm.requests import Request
from llm.reranking import TEI, TEI_BATCH


@dataclass(frozen=True)
class Job:
    """A waiting query with its candidates, then with its new order; or why there is none.

    `other` is the second run's order of a merge, `relevant` the gold of an oracle.
    """

    row: RerankItem
    candidates: Candidates
    other: Sequence[str] = ()
    relevant: frozenset[str] = frozenset()
    scores: dict[str, float] | None = None
    found: dict[str, Any] | None = None
    failure: LLMError | None = None


class RerankPump(Pump[Job, Job]):
    """One worker's drive of its share of a reranking."""

    run: RerankRun
    words = ("query", "queries")

    @classmethod
    def take_groups(cls, share: Share[Any]) -> None:
        """As every pump; where nobody is asked, with an endpoint that nobody calls."""
        if share.run.endpoint:
            super().take_groups(share)
        else:
            pump = cls(share, endpoints.practice(""))
            asyncio.run(pump._run_to_end())

    def prepare(self) -> None:
        """The reranker, and what is not known of it yet."""
        self.settings = settings_of(self.run)
        self._longest = 0
        self._is_tried = False
        self._turn = asyncio.Lock()

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting queries with what is ranked for them."""
        rows = list(group.within(self.run.waiting_items()).select_related("query__domain"))
        run, config, queries = self.run, self.run.config, [each.query for each in rows]
        read = partial(candidates_of, queries=queries, depth=config["depth"])
        found = read(run.source, scheme=config["scheme"])
        others = read(run.second, scheme=config["scheme"]) if run.second else {}
        relevant = relevant_of(run.source, queries) if run.method == asking.ORACLE else {}
        nothing = Candidates([], [], [])
        return [
            Job(
                row,
                found.get(row.query_id, nothing),
                others.get(row.query_id, nothing).pids,
                frozenset(relevant.get(row.query_id, ())),
            )
            for row in rows
        ]

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """The new order of one query."""
        pids, method = item.candidates.pids, self.run.method
        if method == asking.MERGE:
            config = self.run.config
            fusion = config.get("fusion", rules.LOGARITHM)
            scores = rules.merged(pids, item.other, config["weight"], fusion)
            return replace(item, scores=scores, found={"pids": pids})
        if method == asking.ORACLE:
            order = rules.by_place(rules.oracle(pids, item.relevant))
            return replace(
                item, scores={pids[n]: s for n, s in order.items()}, found={"pids": pids}
            )
        async with self._turn:
            if not self._is_tried:
                await self._try_first(gateways)
                self._is_tried = True
        read = partial(texts_of, self.run.source, item.row.query.domain_id, pids)
        texts = {p: t for p, t in (await gateways.in_database(read)).items() if t.strip()}
        return await self._ask(item, texts, gateways)

    def store(self, results: Sequence[Job]) -> int:
        """Orders of a group."""
        for each in results:
            row = each.row
            if each.scores is None:
                row.state = RerankState.FAILED
                row.error = each.failure.words if each.failure else "No order came back."
            else:
                listed = rules.ranked(each.scores)
                row.state, row.error = RerankState.RANKED, ""
                row.pids, row.scores = [pid for pid, _ in listed], [score for _, score in listed]
                row.found = each.found or {}
            row.save()
        return len(results)

    async def _try_first(self, gateways: Gateways) -> None:
        """What a server tells of its limits, and whether scores tell anything."""
        if self.settings.wire == TEI:
            async with Client(self.endpoint) as client:
                info = await client.look("/info")
            told = info if isinstance(info, dict) else {}
            most, longest = told.get("max_client_batch_size"), told.get("max_input_length")
            batch = most if isinstance(most, int) and most > 0 else TEI_BATCH
            self.settings = replace(self.settings, batch=min(batch, self.settings.batch))
            self._longest = longest if isinstance(longest, int) else 0
        if is_probed(self.run.method, self.endpoint, self.run.config):
            ask = partial(self._text, gateways=gateways, of=f"probe:{self.run.pk}")
            await probe(ask, self.settings, self.key)

    async def _ask(self, item: Job, texts: dict[str, str], gateways: Gateways) -> Job:
        known = item.candidates.only(texts)
        question, most = item.row.query.text, self.settings.document_chars
        # A server cuts what its model cannot read; one that tells its limit lets that be counted.
        room = self._longest and max(1, self._longest - likely_tokens(question))
        truncated = [
            pid
            for pid in known.pids
            if len(texts[pid]) > most or (room and likely_tokens(texts[pid]) > room)
        ]
        task = asking.Task(
            question,
            [texts[pid][:most] for pid in known.pids],
            asking.family_of(item.row.query.domain.name, self.settings.family),
            self._orders(item.row.query.pk, len(known.pids)),
        )
        outcome = asking.Outcome([])
        if known.pids:
            steps = asking.steps_of(task, self.settings, self.key)
            ask = partial(self._text, gateways=gateways, of=str(item.row.pk))
            outcome = await carry(steps, ask)
        found = {
            "pids": known.pids,
            "retriever": known.retriever,
            "rerank": list(outcome.scores),
            "spread": list(outcome.spread),
            "truncated": truncated,
            "missing": sorted(set(item.candidates.pids) - texts.keys()),
            "unread": int(outcome.unread),
            "is_kept": outcome.is_kept,
        }
        return replace(item, scores=self._final(known, outcome), found=found)

    async def _text(self, request: Request, *, gateways: Gateways, of: str) -> str | None:
        subject = f"{request.role}:{of}"
        if self.run.method == asking.ENDPOINT:
            return (await gateways.complete(request, subject)).text
        reply = await readable(gateways, request, subject)
        return reply.text if reply else None

    def _final(self, known: Candidates, outcome: asking.Outcome) -> dict[str, float]:
        """The final scores; who vanished from a list has none."""
        config, scores = self.run.config, outcome.scores
        if self.run.method == asking.LISTWISE:
            return {p: s for p, s in zip(known.pids, scores, strict=True) if s is not None}
        mix = config["mix"]
        if self.run.method == asking.ENDPOINT and mix != ALONE:
            # A server's scores are of any scale.
            own = {p: s for p, s in zip(known.pids, scores, strict=True) if s is not None}
            scores = [scaled(own).get(pid) for pid in known.pids]
        if mix == TIE_BREAK:
            final = rules.tie_broken(scores, known.retriever, known.raw)
        else:
            weight = config["weight"] if mix == INTERPOLATE else 1
            final = rules.interpolated(scores, known.retriever, weight)
        return dict(zip(known.pids, final, strict=True))

    def _orders(self, query: int, count: int) -> list[list[int]]:
        """Seeded shuffles, each query's own, so that a drive that goes on asks the same."""
        if self.run.method != asking.GROUPWISE:
            return []
        config = self.run.config
        orders = []
        for repeat in range(config["repeats"]):
            draw = random.Random(f"{config['seed']}/{query}/{repeat}")  # noqa: S311
            orders.append(draw.sample(range(count), count))
        return orders


def close(run: RerankRun) -> None:
    """Publish the outcome, or end as failed where a query has none. Raises LostLease."""
    report = report_of(run)
    if failed_first(run, report, instead="in the retriever's order"):
        return
    with transaction.atomic():
        made = _publish(run, report)
        run.finish(run=made, report=report, error="", pause_reason="")
        note(run, None, "rerank retrieval run", made=made.pk)


def report_of(run: RerankRun) -> dict[str, Any]:
    """What was met: documents shown in part, by how many queries; ids without a text; replies
    that nobody could read, and documents and queries that stayed where the retriever put them; of
    repeats the mean of their spreads, and over how many documents it is."""
    truncated: Counter[str] = Counter()
    found: Counter[str] = Counter()
    spreads: list[float] = []
    for state, each in run.items.values_list("state", "found").iterator(chunk_size=200):
        truncated.update(each.get("truncated", ()))
        scores = each.get("rerank", ())
        spreads += [spread for spread in each.get("spread", ()) if spread is not None]
        found["documents"] += len(each.get("pids", ()))
        found["missing"] += len(each.get("missing", ()))
        found["unread"] += each.get("unread", 0)
        is_kept = state == RerankState.KEPT or each.get("is_kept", False)
        found["kept_queries"] += is_kept
        if run.config.get("mix"):
            found["kept_documents"] += sum(score is None for score in scores)
    names = ("documents", "missing", "unread", "kept_queries", "kept_documents")
    repeated = {"spread": fmean(spreads), "repeated_documents": len(spreads)} if spreads else {}
    return {name: found[name] for name in names} | {
        "truncated": len(truncated),
        "truncated_documents": dict(truncated.most_common(1000)),
        **repeated,
    }


def _publish(run: RerankRun, report: dict[str, Any]) -> RetrievalRun:
    columns = ("query_id", "query__domain__name", "query__qid", "pids", "scores")
    return write_run(
        benchmark=run.benchmark,
        version_key=run.source.corpus_version_id,
        name=run.name,
        taken=names_taken(run.benchmark, run.source) - {run.name},
        lists=run.items.order_by("pk").values_list(*columns),
        provenance={
            "reranking": run.pk,
            "label": f"reranked here: {run.get_method_display()}",
            "method": run.method,
            "source": run.source.name,
            "second": run.second.name if run.second else None,
            "model": run.model,
            "config": run.config,
            "practice": run.practice,
            **{name: value for name, value in report.items() if name != "truncated_documents"},
        },
    )
