"""Driving an expansion: each query goes through its rounds, many queries at a time; and its end,
where each round becomes a query source, and with a retriever a run."""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.db import transaction

from corpus.computing.searching import Payer, Searcher, texts_of
from corpus.imports.wordings import write_source
from corpus.lists import unused_name
from corpus.models import (
    Domain,
    ExpansionItem,
    ExpansionRound,
    ExpansionRun,
    ExpansionState,
    Query,
    RankedList,
)
from corpus.runs.writing import Listed, failed_first, write_run
from corpus.versions.excluded import excluded_in
from corpus.versions.services import stored
from corpus.wordings import asking
from corpus.wordings.services import names_taken, settings_of
from kit.runs.models import RunGroup
from kit.runs.moves import note
from llm.errors import LLMError
from llm.gateway import Gateways
from llm.pump import Pump, readable, together


@dataclass(frozen=True)
class Job:
    """A waiting query with the retriever's own list, then with its rounds; or why there are
    none."""

    row: ExpansionItem
    ranked: Sequence[str] = ()
    excluded: frozenset[str] = frozenset()
    searcher: Searcher | None = None
    rounds: Sequence[ExpansionRound] = ()
    failure: LLMError | None = None


class ExpansionPump(Pump[Job, Job]):
    """One worker's drive of its share of an expansion."""

    run: ExpansionRun
    words = ("query", "queries")

    def prepare(self) -> None:
        """How queries are worded."""
        self.settings = settings_of(self.run)
        self._searchers: dict[int, Searcher] = {}
        # Searching holds a processor for milliseconds: never in the thread of calls.
        self._search = ThreadPoolExecutor(2, thread_name_prefix="expansion-search")

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting queries with what the retriever had for them as they are."""
        rows = list(group.within(self.run.waiting_items()).select_related("query__domain"))
        run, queries = self.run.retriever, [each.query for each in rows]
        if run is None:
            return [Job(row) for row in rows]
        version = stored(self.run.benchmark, run.corpus_version_id)
        excluded = excluded_in(version, queries) if version else {}
        lists = RankedList.objects.filter(run=run, query__in=[each.pk for each in queries])
        ranked = dict(lists.values_list("query", "pids"))
        return [
            Job(
                row,
                ranked.get(row.query_id, ()),
                frozenset(excluded.get(row.query_id, ())),
                self._searcher(row.query.domain),
            )
            for row in rows
        ]

    async def work(self, item: Job, gateways: Gateways) -> Job:
        """Carry one query through its rounds."""
        rounds: list[ExpansionRound] = []
        earlier: list[asking.Shown] = []
        ranked, answer = list(item.ranked), ""
        for number in range(1, self.settings.rounds + 1):
            shown = await self._pick(item, ranked, earlier, gateways)
            before = rounds[-1] if rounds else None
            if before and not shown.pids:
                rounds.append(_again(before, number))
                continue
            earlier.append(shown)
            made = await self._round(item, number, shown, answer, before, gateways)
            rounds.append(made)
            answer = asking.answer_of(made.texts, self.settings) or answer
            before_this, ranked = ranked, made.pids or []
            if self.settings.stops_early and asking.is_settled(before_this, ranked):
                made.found["is_last"] = True
                break
        return replace(item, rounds=rounds)

    def store(self, results: Sequence[Job]) -> int:
        """Rounds of a group; a query of which nothing could be read stays as it was."""
        for each in results:
            row = each.row
            if each.failure:
                row.state, row.error = ExpansionState.FAILED, each.failure.words
            else:
                is_worded = any(made.texts for made in each.rounds)
                row.state = ExpansionState.WORDED if is_worded else ExpansionState.KEPT
                row.error = ""
                row.rounds.all().delete()
                ExpansionRound.objects.bulk_create(each.rounds)
            row.save(update_fields=["state", "error"])
        return len(results)

    async def _pick(
        self, item: Job, ranked: Sequence[str], earlier: Sequence[asking.Shown], gateways: Gateways
    ) -> asking.Shown:
        run, count = self.run.retriever, self.settings.passages
        if run is None or self.settings.method == asking.REWRITE:
            return asking.Shown((), ())
        # All that may have to be passed over, and as many again: some have no text, or one that
        # another has.
        first = list(ranked)[: 2 * count * (len(earlier) + 1)]
        read = partial(texts_of, run, item.row.query.domain_id, first)
        found: dict[str, str] = await gateways.in_database(read)
        texts = {pid: text for pid, text in found.items() if text.strip()}
        return asking.pick(first, texts, earlier, self.settings)

    async def _round(
        self,
        item: Job,
        number: int,
        shown: asking.Shown,
        answer: str,
        before: ExpansionRound | None,
        gateways: Gateways,
    ) -> ExpansionRound:
        """One round: its samples, the query that they make, and what that retrieves."""
        question, who = item.row.query.text, self.settings
        prompt = asking.prompt_for(question, shown, answer, who, self.key)
        drawn = await together(
            self._sample(item, number, n, prompt, gateways) for n in range(who.samples)
        )
        texts = [text for text, _, _ in drawn if text]
        query = asking.query_of(question, texts, who) if texts else ""
        made = ExpansionRound(
            item=item.row,
            number=number,
            shown=list(shown.pids),
            calls=[call for _, calls, _ in drawn for call in calls],
            texts=texts,
            query=query or (before.query if before else question),
            found={"cut": prompt.cut, "unread": sum(unread for _, _, unread in drawn)},
        )
        if not query:
            made.found["is_kept"] = True
        if not query and before:
            made.pids, made.scores = before.pids, before.scores
        elif item.searcher is not None:
            find = partial(item.searcher.search, made.query, excluded=item.excluded)
            listed = await asyncio.get_running_loop().run_in_executor(self._search, find)
            made.pids, made.scores = [p for p, _ in listed], [score for _, score in listed]
        return made

    async def _sample(
        self, item: Job, number: int, sample: int, prompt: asking.Prompt, gateways: Gateways
    ) -> tuple[str, list[int], int]:
        """A text with every call that it took, and how many replies could not be used; "" where
        none could."""
        attempts, calls = asking.ATTEMPTS[self.settings.profile], list[int]()
        subject = f"expansion:{item.row.pk}:{number}"
        for attempt in range(attempts):
            replicate = sample * attempts + attempt
            request = asking.request_of(prompt, self.settings, replicate=replicate)
            reply = await readable(gateways, request, subject, calls)
            if reply and (text := asking.read_reply(reply.text)):
                return text, calls, attempt
        return "", calls, attempts

    def _searcher(self, domain: Domain) -> Searcher:
        if domain.pk not in self._searchers:
            run = self.run.retriever
            assert run is not None
            payer = Payer(self.run.account, subject=f"expansion-search:{self.run.pk}")
            self._searchers[domain.pk] = Searcher(
                run, domain, self.run.config["depth"], payer=payer,
                step=lambda _: self._share.keep(),
            )  # fmt: skip
        return self._searchers[domain.pk]


def _again(before: ExpansionRound, number: int) -> ExpansionRound:
    """A round in which nothing new could be shown: the query stays that of the one before."""
    kept: dict[str, Any] = {"query": before.query, "pids": before.pids, "scores": before.scores}
    return ExpansionRound(
        item=before.item, number=number, found={"cut": 0, "unread": 0, "is_kept": True}, **kept
    )


def close(run: ExpansionRun) -> None:
    """Publish the rounds, or end as failed where a query has none. Raises LostLease."""
    report = report_of(run)
    if failed_first(run, report, instead="as they are"):
        return
    with transaction.atomic():
        count = run.config.get("rounds", 1)
        report["rounds"] = [_publish(run, number, count, report) for number in range(1, count + 1)]
        last = report["rounds"][-1]
        run.finish(
            source_id=last["source"], run_id=last["run"], report=report, error="", pause_reason=""
        )
        note(run, None, "publish expansion", source=last["source"], made=last["run"])


def report_of(run: ExpansionRun) -> dict[str, Any]:
    """What was met: passages shown and cut, replies that could not be used, rounds in which the
    query stayed, queries that stopped early and that stayed as they were."""
    found = {"shown": 0, "cut": 0, "unread": 0, "kept_rounds": 0, "stopped": 0}
    rows = ExpansionRound.objects.filter(item__run=run).values_list("shown", "found")
    for shown, each in rows.iterator(chunk_size=500):
        found["shown"] += len(shown)
        found["cut"] += each.get("cut", 0)
        found["unread"] += each.get("unread", 0)
        found["kept_rounds"] += each.get("is_kept", False)
        found["stopped"] += each.get("is_last", False)
    kept = run.items.filter(state=ExpansionState.KEPT).count()
    return {**found, "kept_queries": kept}


def _publish(run: ExpansionRun, number: int, count: int, report: dict[str, Any]) -> dict[str, Any]:
    """One round as a source and, with a retriever, a run; who stopped before is as it was then."""
    name = run.name if number == count else f"{run.name}, round {number}"
    taken = names_taken(run.benchmark, run.retriever) - {run.name}
    name = unused_name(name, taken)
    items = run.items.select_related("query__domain").order_by("pk")
    latest: dict[int, ExpansionRound] = {}
    rows = ExpansionRound.objects.filter(item__run=run, number__lte=number).order_by("number")
    for each in rows.iterator(chunk_size=200):
        latest[each.item_id] = each
    provenance = {
        "expansion": run.pk,
        "round": number,
        "rounds": count,
        "label": f"worded here: {run.get_method_display()}, round {number} of {count}",
        "model": run.model,
        "config": run.config,
        "practice": run.practice,
        **{key: value for key, value in report.items() if key != "rounds"},
    }
    queries = [each.query for each in items if each.state == ExpansionState.WORDED]
    of_query = {each.query_id: latest.get(each.pk) for each in items}
    texts = [(q, made.query) for q in queries if (made := of_query[q.pk]) and made.query != q.text]
    source = write_source(benchmark=run.benchmark, name=name, texts=texts, provenance=provenance)
    made_run = None
    if run.retriever is not None:
        made_run = write_run(
            benchmark=run.benchmark,
            version_key=run.retriever.corpus_version_id,
            name=name,
            taken=taken - {name},
            lists=_lists(run, [each.query for each in items], of_query),
            provenance=provenance
            | {
                "method": run.retriever.provenance.get("method", ""),
                "source": run.retriever.name,
                "queries": source.name,
            },
        )
    return {"round": number, "source": source.pk, "run": made_run.pk if made_run else None}


def _lists(
    run: ExpansionRun, queries: list[Query], of_query: dict[int, ExpansionRound | None]
) -> Iterator[Listed]:
    """What the round retrieved; of a query that stayed as it was what the retriever had."""
    own = {
        pk: (pids, scores)
        for pk, pids, scores in RankedList.objects.filter(
            run=run.retriever, query__in=[q.pk for q in queries if of_query[q.pk] is None]
        ).values_list("query", "pids", "scores")
    }
    for query in queries:
        made = of_query[query.pk]
        if made is not None and made.pids is not None:
            yield query.pk, query.domain.name, query.qid, made.pids, made.scores
        elif query.pk in own:
            yield query.pk, query.domain.name, query.qid, *own[query.pk]
