"""Grading generated answers: a model says whether they hold the truth, or how much of it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from corpus.models import Query
from evaluation.rag.board import shown
from evaluation.rag.models import AnswerState, Grade, GradeRun, GradeState, RagRun
from evaluation.rag.protocol.answering import Harness, prompt_of
from evaluation.rag.protocol.grading import (
    PROFILES,
    STRICT,
    Exam,
    Graded,
    Grader,
    Grading,
    grade,
    grade_request,
    role_of,
)
from evaluation.rag.reading import generators
from evaluation.rag.services import truths_of
from kit.errors import Refused
from kit.runs.models import RunGroup, RunStatus
from kit.runs.moves import retry_items
from kit.runs.sharing import cut
from llm import pump
from llm.endpoints import Endpoint, fence_key
from llm.ledger.accounts import asked_of, check_sampling, start_asking
from llm.prices import costs
from llm.profiles import likely_input, likely_thoughts
from llm.prompts import PromptTemplate
from llm.requests import Usage

ROLE: Final = "grader"
MOST_REPLICATES: Final = 1_000_000
NO_ORDER: Final = "No query here has two true answers whose order could be swapped."
NO_TRUTH: Final = "The query has no true answer any more."
_LIKELY: Final = {Harness.SHORT: 5, Harness.LONG: 120, Harness.CITED: 120}
_ROWS: Final = 1_000
_SAMPLE: Final = 200
_STORED: Final = ("state", "value", "said", "call", "error")


def start_grading(
    *,
    rag_run: RagRun,
    endpoint: Endpoint,
    actor: User | None,
    profile: str = STRICT,
    temperature: float = 0.0,
    reasoning_effort: str = "",
    replicate: int = 0,
    swapped: bool = False,
    budget_usd: Decimal | None = None,
    claimed: bool = False,
) -> GradeRun:
    """Let a model grade every answer of a run that has ended; another `replicate` asks it again.
    With `swapped` it sees several true answers the other way round, for its card alone.
    Raises Refused, naming the field."""
    if profile not in PROFILES:
        raise Refused(f"The profiles are {', '.join(PROFILES)}.", field="profile")
    if swapped and not with_order(rag_run):
        raise Refused(NO_ORDER, field="swapped")
    asked = asked_how(
        prompt_of(role_of(Harness(rag_run.harness))),
        temperature=temperature,
        reasoning_effort=reasoning_effort,
        replicate=replicate,
        swapped=swapped,
    )
    total = rag_run.answers.filter(state=AnswerState.ANSWERED).count()
    if rag_run.status != RunStatus.DONE or not total:
        raise Refused("Answers are graded when their run is done, and this one is not.")
    run = GradeRun(
        benchmark=rag_run.benchmark,
        rag_run=rag_run,
        config={"profile": profile, **asked},
        **asked_of(endpoint, ROLE),
        budget_usd=budget_usd,
        total=total,
    )
    return start_asking(run, actor=actor, verb="start grading", claimed=claimed, answers=total)


def asked_how(
    prompt: PromptTemplate,
    *,
    temperature: float,
    reasoning_effort: str,
    replicate: int,
    swapped: bool,
) -> dict[str, Any]:
    """How a judge of answers is asked, as its run keeps it. Raises Refused, naming the field."""
    if not 0 <= replicate <= MOST_REPLICATES:
        raise Refused(f"Replicates are 0 to {MOST_REPLICATES:,}.", field="replicate")
    check_sampling(temperature, reasoning_effort)
    return {
        "temperature": temperature,
        "reasoning_effort": reasoning_effort,
        "replicate": replicate,
        "prompt": prompt.sha256,
        "prompt_version": prompt.version,
        # Kept where it is so: a judge of before it could be chosen is the same judge.
        **({"swapped": True} if swapped else {}),
    }


def plan(run: GradeRun) -> None:
    """Let a grade of each answer wait, in short transactions, then cut groups. Raises LostLease."""
    last = run.grades.order_by("-answer_id").values_list("answer_id", flat=True).first() or 0
    keys = run.rag_run.answers.filter(state=AnswerState.ANSWERED).order_by("pk")
    while part := list(keys.filter(pk__gt=last).values_list("pk", flat=True)[:_ROWS]):
        with transaction.atomic():
            run.beat()
            Grade.objects.bulk_create(Grade(run=run, answer_id=key) for key in part)
        last = part[-1]
    cut(run)


def close(run: GradeRun) -> None:
    """Keep the grades in a sheet, source by source, and end the run."""
    sheet = {}
    for source in run.rag_run.sources.all():
        run.beat()
        rows = run.grades.filter(answer__source=source, value__isnull=False)
        found = dict(rows.order_by().values_list("answer__query_id", "value"))
        sheet[str(source.pk)] = [found.get(query) for query in source.sheet["queries"]]
    run.finish(sheet=sheet)
    newest = (each for each in generators(run.benchmark) if each.generator == run.rag_run.generator)
    for each in newest:  # so that nobody waits for what is drawn
        shown(each)


def retry_failed(*, run: GradeRun, actor: User | None) -> None:
    """Grade again what got no grade, and that alone: what could not be read is asked anew, and paid
    for, since the ledger would tell the same. Raises Refused."""
    again = (GradeState.FAILED, GradeState.UNREADABLE)
    with transaction.atomic():
        run.grades.filter(state=GradeState.UNREADABLE).update(replicate=F("replicate") + 1)
        retry_items(run, run.grades.all(), actor=actor, noun="grade", nouns="grades", failed=again)


def grader_of(run: GradeRun) -> Grader:
    """Who grades, as it was frozen. Raises Refused where the prompt changed since."""
    harness, config = Harness(run.rag_run.harness), run.config
    if prompt_of(role_of(harness)).sha256 != config["prompt"]:
        raise Refused("The grader's prompt changed since this run was made; start a new run.")
    kept = {name: config[name] for name in ("profile", "temperature", "reasoning_effort")}
    return Grader(run.endpoint, run.model, harness, **kept, swapped=run.is_swapped)


def with_order(run: RagRun) -> set[int]:
    """The queries of its answers whose graders are shown several true answers."""
    if run.harness != Harness.SHORT:
        return set()
    rows = Query.objects.filter(pk__in=run.answers.values("query")).order_by()
    known = rows.values_list("pk", "answers")
    return {key for key, truths in known if len(_shown(truths)) > 1}


def _shown(truths: Sequence[str]) -> tuple[str, ...]:
    return tuple(filter(str.strip, truths))


Job: TypeAlias = pump.Job[Grade, Exam, Graded]


class GradePump(pump.ExamPump[Grade, Exam, Graded]):
    """One worker's drive of its share of a grading."""

    run: GradeRun
    words = ("answer", "answers")

    def prepare(self) -> None:
        """Who grades, and the true answers read so far."""
        self.grader = grader_of(self.run)
        self._truths: dict[int, list[str]] = {}

    def read_group(self, group: RunGroup) -> Sequence[Job]:
        """Waiting answers with what they are held against."""
        rows = group.within(self.run.waiting_items()).select_related("answer__query__domain")
        found = list(rows)
        unread = {row.answer.query_id: row.answer.query for row in found}
        unread = {key: query for key, query in unread.items() if key not in self._truths}
        if unread:
            harness = self.run.rag_run.harness
            self._truths |= truths_of(self.run.benchmark, list(unread.values()), harness)
        return [Job(row, _exam(row, self._truths)) for row in found]

    def steps(self, row: Grade, exam: Exam) -> Grading:
        """Ask until a reply is a grade."""
        return grade(exam, self.grader, self.key, self.run.anew(row.replicate))

    def store(self, results: Sequence[Job]) -> int:
        """Grades of a group."""
        for each in results:
            _write(each)
        Grade.objects.bulk_update([each.row for each in results], _STORED)
        return len(results)


def _exam(row: Grade, truths: Mapping[int, Sequence[str]]) -> Exam | None:
    true = _shown(truths[row.answer.query_id])
    if not true or not row.answer.is_informed:
        return None
    return Exam(row.answer.query.text, true, tuple(row.answer.answers))


def _write(job: Job) -> None:
    row, said = job.row, job.said
    row.value, row.error = None, ""
    if said is not None:
        row.state = GradeState.UNREADABLE if said.value is None else GradeState.GRADED
        row.value, row.said, row.call_id = said.value, said.said, said.call or None
    elif job.failure is not None:
        row.state, row.error = GradeState.FAILED, job.failure.words
    elif not row.answer.is_informed:
        row.state, row.value = GradeState.GRADED, 0.0
    else:
        row.state, row.error = GradeState.FAILED, NO_TRUTH


def forecast(
    rag_run: RagRun, endpoint: Endpoint | None, *, reasoning_effort: str = ""
) -> dict[str, Any]:
    """What grading a run's answers is likely to take, by a part of them; `usd` is None without a
    known price."""
    harness = Harness(rag_run.harness)
    informed = rag_run.answers.filter(state=AnswerState.ANSWERED, is_informed=True)
    sample = list(informed.select_related("query__domain").order_by("pk")[:_SAMPLE])
    truths = truths_of(rag_run.benchmark, [each.query for each in sample], harness)
    who = Grader("", "", harness)
    asked = [
        grade_request(
            Exam(each.query.text, tuple(truths[each.query_id]) or ("",), tuple(each.answers)),
            who,
            fence_key(),
        )
        for each in sample
    ]
    calls = informed.count()
    mean = sum(map(likely_input, asked)) / len(asked) if asked else 0
    model = endpoint.default_model if endpoint else ""
    written = _LIKELY[harness] + likely_thoughts(model, reasoning_effort)
    usage = Usage(input=round(calls * mean), output=calls * written)
    return {"queries": calls, "calls": calls, **costs(usage, endpoint)}
