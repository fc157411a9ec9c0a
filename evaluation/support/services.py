"""Judging citations: which answers, by whom, at what cost."""

from collections.abc import Sequence
from decimal import Decimal
from itertools import islice
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from corpus.lists import is_key
from corpus.models import Benchmark, Passage
from evaluation.agents.models import AgentRun, AgentState
from evaluation.rag.grading import asked_how
from evaluation.rag.models import RagRun
from evaluation.support.models import (
    Claim,
    SetKind,
    SupportedAnswer,
    SupportRun,
    SupportSet,
    SupportState,
    SupportVerdict,
)
from evaluation.support.protocol.judging import (
    Exam,
    Judge,
    Judging,
    Verdict,
    judge,
    judge_request,
    prompt,
)
from evaluation.support.splitting import Split, before, splits
from kit.errors import Refused
from kit.runs.heartbeat import Heartbeat
from kit.runs.models import OVER, RunGroup, RunStatus
from kit.runs.moves import retry_items
from kit.runs.sharing import cut
from llm import pump
from llm.endpoints import Endpoint, fence_key
from llm.ledger.accounts import asked_of, start_asking
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts
from llm.requests import Usage

ROLE: Final = "grader"
MOST_PER_SENTENCE: Final = 20
_LIKELY: Final = 120
_ROWS: Final = 1_000
_ANSWERS: Final = 200
_SAMPLE: Final = 100
_STORED: Final = ("state", "value", "start", "end", "said", "call", "error")


def unsaved_set(benchmark: Benchmark, source: str, per_sentence: int | None = None) -> SupportSet:
    """The answers of a source: `references`, `agent:` or `rag:` with the number of a run that has
    ended. Raises Refused, naming the field."""
    kind, _, number = source.partition(":")
    if per_sentence is not None and not 1 <= per_sentence <= MOST_PER_SENTENCE:
        raise Refused(f"Give 1 to {MOST_PER_SENTENCE}, or nothing.", field="per_sentence")
    key = int(number) if is_key(number) else 0
    found = SupportSet(benchmark=benchmark, per_sentence=per_sentence)
    if source == "references":
        found.kind, found.name = SetKind.REFERENCE, "reference answers"
    elif kind == SetKind.AGENT and (run := _ended(AgentRun, benchmark, key)):
        found.kind, found.name, found.agent_run = SetKind.AGENT, run.name, run
    elif kind == SetKind.RAG and (rag := _ended(RagRun, benchmark, key)):
        found.kind, found.name, found.rag_run = SetKind.RAG, rag.name, rag
    else:
        raise Refused("Choose a run here that is done, or the reference answers.", field="source")
    return found


def _ended(model: Any, benchmark: Benchmark, key: int) -> Any:
    return model.objects.filter(benchmark=benchmark, pk=key, status=RunStatus.DONE).first()


def sources(benchmark: Benchmark) -> list[tuple[str, str]]:
    """What there is to choose from, by the name that `unsaved_set` takes."""
    done = {"benchmark": benchmark, "status": RunStatus.DONE}
    answered = AgentRun.objects.filter(**done).order_by("-pk")
    answered = answered.filter(
        items__state__in=(AgentState.FINISHED, AgentState.MAX_ITERATIONS)
    ).distinct()
    return [
        ("references", "Reference answers that are published"),
        *((f"agent:{run.pk}", f"Search agent: {run.name}") for run in answered),
        *((f"rag:{run.pk}", f"RAG: {run.name}") for run in RagRun.objects.filter(**done)),
    ]


def start_support(
    *,
    of: SupportSet,
    endpoint: Endpoint,
    actor: User | None,
    temperature: float = 0.0,
    reasoning_effort: str = "",
    replicate: int = 0,
    swapped: bool = False,
    budget_usd: Decimal | None = None,
    claimed: bool = False,
) -> SupportRun:
    """Let a model judge every citation of a set, which is stored where it is new; a second judge
    has another model, or other sampling. Another `replicate` asks a judge again, and with `swapped`
    it sees the passage first, for its card alone. Raises Refused, naming the field."""
    asked = asked_how(
        prompt(),
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        replicate=replicate,
        swapped=swapped,
    )
    # Where the first judge was given up before it had split the answers, the next one does.
    if of.pk and not of.is_split and of.runs.exclude(status__in=OVER).exists():
        raise Refused("The first judge of these answers has not begun yet; wait for it.")
    if not of.pk and next(splits(of), None) is None:
        raise Refused("There is no answer to judge.", field="source")
    with transaction.atomic():
        if not of.pk:
            of.save()
        run = SupportRun(
            benchmark=of.benchmark,
            support_set=of,
            config=asked,
            **asked_of(endpoint, ROLE),
            budget_usd=budget_usd,
        )
        return start_asking(
            run, actor=actor, verb="judge citations", claimed=claimed, answers=of.name
        )


def plan(run: SupportRun) -> None:
    """Split the answers, unless another judge came first, and let a verdict on each citation whose
    passage has a text wait; in short transactions. Raises LostLease, and Refused where nothing is
    cited."""
    of = run.support_set
    if not of.is_split:
        # Beside the writes: whoever takes over reads past what is there, longer than a lease lasts.
        with Heartbeat(run):
            there = set(of.answers.values_list("origin", flat=True))
            found = splits(of, there)
            while some := list(islice(found, _ANSWERS)):
                with transaction.atomic():
                    run.beat()
                    store_splits(some)
        with transaction.atomic():
            run.beat()
            SupportSet.objects.filter(pk=of.pk).update(is_split=True)
    last = run.verdicts.order_by("-claim_id").values_list("claim_id", flat=True).first() or 0
    claims = Claim.objects.filter(answer__support_set=of, passage__text__isnull=False)
    total = claims.count()
    if not total:
        raise Refused("No sentence cites a passage whose text is loaded.")
    keys = claims.order_by("pk").values_list("pk", flat=True)
    while part := list(keys.filter(pk__gt=last)[:_ROWS]):
        with transaction.atomic():
            run.beat(total=total)
            SupportVerdict.objects.bulk_create(SupportVerdict(run=run, claim_id=k) for k in part)
        last = part[-1]
    cut(run)


def store_splits(found: Sequence[Split]) -> None:
    """Answers with their claims; for a caller in a transaction."""
    SupportedAnswer.objects.bulk_create([answer for answer, _ in found])
    Claim.objects.bulk_create(
        Claim(answer=answer, sentence=at, place=place, pid=pid, passage_id=known.get(pid))
        for answer, known in found
        for at, place, pid in _claims_of(answer)
    )


def _claims_of(answer: SupportedAnswer) -> list[tuple[int, int, str]]:
    """(sentence, place, id) of what is judged: of each sentence the first citations."""
    return [
        (at, place, pid)
        for at, (_, cited) in enumerate(answer.sentences)
        for place, pid in enumerate(cited[: answer.support_set.per_sentence])
    ]


def retry_failed(*, run: SupportRun, actor: User | None) -> None:
    """Ask again about what got no verdict, and that alone: what could not be read is asked anew,
    and paid for, since the ledger would tell the same. Raises Refused."""
    again = (SupportState.FAILED, SupportState.UNREADABLE)
    with transaction.atomic():
        unread = run.verdicts.filter(state=SupportState.UNREADABLE)
        unread.update(replicate=F("replicate") + 1)
        retry_items(
            run, run.verdicts.all(), actor=actor, noun="verdict", nouns="verdicts", failed=again
        )


Job: TypeAlias = pump.Job[SupportVerdict, Exam, Verdict]


class SupportPump(pump.ExamPump[SupportVerdict, Exam, Verdict]):
    """One worker's drive of its share of a judging."""

    run: SupportRun
    words = ("citation", "citations")

    def prepare(self) -> None:
        """Who judges, as it was frozen. Raises Refused where the prompt changed since."""
        config = self.run.config
        if prompt().sha256 != config["prompt"]:
            raise Refused("The judge's prompt changed since this run was made; start a new run.")
        kept = {name: config[name] for name in ("temperature", "reasoning_effort")}
        self.judge = Judge(self.run.endpoint, self.run.model, **kept, swapped=self.run.is_swapped)

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting citations with sentence and passage."""
        related = ("claim__answer__query", "claim__passage")
        rows = group.within(self.run.waiting_items()).select_related(*related)
        return [
            Job(row, _exam(row.claim.answer, row.claim.sentence, row.claim.passage)) for row in rows
        ]

    def steps(self, row: SupportVerdict, exam: Exam) -> Judging:
        """Ask until a reply is a verdict."""
        return judge(exam, self.judge, self.key, self.run.anew(row.replicate))

    def store(self, results: Sequence[Job]) -> int:
        """Verdicts of a group."""
        for each in results:
            row, said = each.row, each.said
            row.value = row.start = row.end = None
            row.state, row.error = SupportState.FAILED, ""
            if said is not None:
                row.value, row.said, row.call_id = said.value, said.said, said.call or None
                row.start, row.end = said.span or (None, None)
                is_read = said.value is not None
                row.state = SupportState.JUDGED if is_read else SupportState.UNREADABLE
            elif each.failure is not None:
                row.error = each.failure.words
        SupportVerdict.objects.bulk_update([each.row for each in results], _STORED)
        return len(results)


def _exam(answer: SupportedAnswer, at: int, passage: Passage | None) -> Exam:
    text = (passage.text if passage else None) or ""
    return Exam(answer.query.text, before(answer.sentences, at), answer.sentences[at][0], text)


def forecast(of: SupportSet, endpoint: Endpoint | None) -> dict[str, Any]:
    """What judging a set, or what would be one, is likely to take; of one that is not split by its
    first answers. `usd` is None without a known price."""
    if of.pk:
        whole = Claim.objects.filter(answer__support_set=of, passage__text__isnull=False)
        calls = whole.count()
        some = whole.select_related("answer__query", "passage").order_by("pk")[:_SAMPLE]
        exams = [_exam(each.answer, each.sentence, each.passage) for each in some]
    else:
        parts = list(islice(splits(of), _SAMPLE))
        cited = [(answer, at, known[pid]) for answer, known in parts for at, _, pid in
                 _claims_of(answer) if pid in known]  # fmt: skip
        texts = Passage.objects.with_text().in_bulk({key for *_, key in cited})
        exams = [
            _exam(answer, at, found)
            for answer, at, key in cited
            if (found := texts.get(key)) and found.text
        ]
        calls = round(len(exams) * answers_in_source(of) / len(parts)) if parts else 0
    asked = [judge_request(each, Judge("", ""), fence_key()) for each in exams]
    mean = sum(map(likely_input, asked)) / len(asked) if asked else 0
    model = endpoint.default_model if endpoint else ""
    usage = Usage(input=round(calls * mean), output=calls * (_LIKELY + likely_thoughts(model, "")))
    return {"queries": calls, "calls": calls, **costs(usage, endpoint)}


def answers_in_source(of: SupportSet) -> int:
    """How many answers it has, as far as that is known without splitting them."""
    if of.agent_run is not None:
        done = of.agent_run.items.exclude(state__in=(AgentState.WAITING, AgentState.FAILED))
        return done.count() * (of.agent_run.rounds or 1)
    if of.rag_run is not None:
        return of.rag_run.answers.filter(is_informed=True).count()
    return sum(1 for _ in splits(of))
