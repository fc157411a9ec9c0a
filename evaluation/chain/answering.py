"""Steps of a chain in which machines answer: search agents, RAG, their judges; and the release."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet

from corpus.models import Query, RetrievalRun
from debate.answers import services as references
from evaluation.agents import judging
from evaluation.agents import services as agents
from evaluation.agents.protocol.judging import JudgeMode
from evaluation.chain.here import Here, Kind, Lines, Settings, added, given
from evaluation.models import AgentRun, AnswerVerdict, RagAnswer, RagRun, SupportVerdict
from evaluation.rag import grading
from evaluation.rag import services as rag
from evaluation.rag.protocol.answering import Harness
from evaluation.releases.services import start_release, suggested_version
from evaluation.support import services as support
from kit.errors import Refused
from kit.runs.models import TrackedRun

# Whose answers a judge of citations reads.
ANSWERS, AGENTS, REFERENCES = OF = ("answers", "agents", "references")


def _references(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        references.start_answers(
            benchmark=here.benchmark,
            queries=references.candidates(here.benchmark, **given(settings, "domain again")),
            **here.asking(settings, "answerer"),
        )
    ]


def _forecast_references(here: Here, settings: Settings) -> dict[str, Any]:
    queries = references.candidates(here.benchmark, **given(settings, "domain again"))
    return added([references.forecast(queries, here.endpoint(settings, "answerer"))])


def _written(here: Here, runs: Sequence[Any]) -> Lines:
    named = ("query__domain__name", "query__qid", "state", "answer__text")
    return runs[0].items.order_by(*named[:2], "pk").values_list(*named).iterator()


def _searched(here: Here, settings: Settings) -> list[RetrievalRun]:
    """The systems that agents search: those with an index here, unless some are named."""
    chosen = here.systems(settings.get("runs", ()))
    if not settings.get("runs"):
        own = set(agents.retrievers(here.benchmark).values_list("pk", flat=True))
        chosen = [run for run in chosen if run.pk in own]
    if not chosen:
        raise Refused("No retrieval run was computed here, so agents have no index to search.")
    return chosen


def _agents(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    chosen = _searched(here, settings)
    return [
        agents.start_agent(
            benchmark=here.benchmark,
            queries=_asked(here, settings),
            retriever=run,
            **here.asking(settings, agents.ROLE, len(chosen)),
            **given(settings, "rounds repetitions"),
        )
        for run in chosen
    ]


def _asked(here: Here, settings: Settings) -> QuerySet[Query]:
    return agents.candidates(here.benchmark, **given(settings, "domain sample"))


def _forecast_agents(here: Here, settings: Settings) -> dict[str, Any]:
    endpoint, kept = here.endpoint(settings, agents.ROLE), given(settings, "rounds repetitions")
    one = agents.forecast(_asked(here, settings), endpoint, **kept)
    return added([one] * len(_searched(here, settings)))


def _traces(here: Here, runs: Sequence[Any]) -> Lines:
    for run in sorted(runs, key=lambda each: each.retriever):
        items = run.items.select_related("query__domain")
        items = items.order_by("query__domain__name", "query__qid", "repetition", "pk")
        for item in items.iterator(chunk_size=200):
            told = map(_bare, (item.turns, item.answers, item.state))
            query = item.query
            yield run.retriever, query.domain.name, query.qid, item.repetition, *told


def _bare(value: Any) -> Any:
    """Without the numbers of calls, which are those of this installation's ledger."""
    if isinstance(value, Mapping):
        return {name: _bare(each) for name, each in value.items() if name not in ("call", "ms")}
    return [_bare(each) for each in value] if isinstance(value, list) else value


def _judge(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    runs = AgentRun.objects.filter(pk__in=here.left["agents"]).order_by("pk")
    return [
        judging.start_judging(
            benchmark=here.benchmark,
            agent_run=run,
            **here.asking(settings, judging.ROLE, len(runs)),
            **given(settings, "mode repetitions"),
        )
        for run in runs
    ]


def _forecast_judge(here: Here, settings: Settings) -> dict[str, Any]:
    runs = AgentRun.objects.filter(pk__in=here.left["agents"]) if "agents" in here.left else ()
    endpoint = here.endpoint(settings, judging.ROLE)
    asked = {"mode": JudgeMode.RUBRIC, **given(settings, "mode repetitions")}
    return added(judging.forecast(run, endpoint, **asked) for run in runs) if runs else {}


def _judged(here: Here, runs: Sequence[Any]) -> Lines:
    rows = AnswerVerdict.objects.filter(run__in=[run.pk for run in runs])
    named = ["run__agent_run__retriever", "item__query__domain__name", "item__query__qid"]
    named += ["round", "repetition"]
    return rows.order_by(*named, "pk").values_list(*named, "state", "scores").iterator()


def _answers(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        rag.start_answers(
            benchmark=here.benchmark,
            runs=here.systems(settings.get("runs", ())),
            **here.asking(settings, rag.ROLE),
            **given(settings, "harness k baselines domain"),
        )
    ]


def _forecast_answers(here: Here, settings: Settings) -> dict[str, Any]:
    harness = settings.get("harness", Harness.SHORT.value)
    if harness not in set(Harness):
        raise Refused("There is no such harness.")
    told = rag.forecast(
        rag.candidates(here.benchmark, harness=harness, domain=settings.get("domain", "")),
        here.endpoint(settings, rag.ROLE),
        runs=len(here.systems(settings.get("runs", ()))),
        harness=harness,
        k=settings.get("k", 10),
        baselines=settings.get("baselines", True),
    )
    return added([told])


def _answered(here: Here, runs: Sequence[Any]) -> Lines:
    named = ("source__kind", "source__retrieval_run__name", "query__domain__name", "query__qid")
    rows = RagAnswer.objects.filter(run=runs[0]).order_by(*named, "pk")
    return rows.values_list(*named, "state", "answers").iterator()


def _grade(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        grading.start_grading(
            rag_run=RagRun.objects.get(pk=here.left["answers"]),
            **here.asking(settings, grading.ROLE),
            **given(settings, "profile"),
        )
    ]


def _forecast_grade(here: Here, settings: Settings) -> dict[str, Any]:
    run = RagRun.objects.filter(pk=here.left.get("answers") or 0).first()
    return added([grading.forecast(run, here.endpoint(settings, grading.ROLE))]) if run else {}


def _graded(here: Here, runs: Sequence[Any]) -> Lines:
    of = ("source__kind", "source__retrieval_run__name", "query__domain__name", "query__qid")
    named = [f"answer__{each}" for each in of]
    return runs[0].grades.order_by(*named, "pk").values_list(*named, "state", "value").iterator()


def _cited(here: Here, settings: Settings) -> list[Any]:
    """The sets of answers whose citations are judged: of RAG, else of agents, else the reference
    answers. Raises Refused."""
    there = {
        ANSWERS: [f"rag:{pk}" for pk in [here.left.get("answers")] if pk],
        AGENTS: [f"agent:{pk}" for pk in here.left.get("agents", ())],
        REFERENCES: ["references"],
    }
    of = settings.get("of") or next(name for name in OF if there[name])
    if not there.get(of):
        raise Refused(f"of is one of {', '.join(OF)}, and that step comes before it.")
    most = settings.get("per_sentence")
    return [support.unsaved_set(here.benchmark, each, most) for each in there[of]]


def _support(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    sets = _cited(here, settings)
    asked = here.asking(settings, support.ROLE, len(sets))
    return [support.start_support(of=each, **asked) for each in sets]


def _forecast_support(here: Here, settings: Settings) -> dict[str, Any]:
    endpoint = here.endpoint(settings, support.ROLE)
    return added(support.forecast(each, endpoint) for each in _cited(here, settings))


def _supported(here: Here, runs: Sequence[Any]) -> Lines:
    rows = SupportVerdict.objects.filter(run__in=[run.pk for run in runs])
    named = ("system", "query__domain__name", "query__qid", "text")
    said = [f"claim__answer__{each}" for each in named]
    said += ["claim__sentence", "claim__place", "claim__pid"]
    return rows.order_by(*said, "pk").values_list(*said, "state", "value").iterator()


def _release(here: Here, settings: Settings) -> Sequence[TrackedRun]:
    return [
        start_release(
            benchmark=here.benchmark,
            actor=here.actor,
            version=settings.get("version") or suggested_version(here.benchmark),
            final=settings.get("final", False),
            agreement_bar=settings.get("agreement_bar"),
            corpus=here.version,
            chain=here.records(),
        )
    ]


def _keys(name: str, **more: Any) -> Any:
    """Leaves the keys of its runs under this name, and what else is so from now on."""
    return lambda here, settings, runs: {name: [run.pk for run in runs], **more}


def _key(name: str, **more: Any) -> Any:
    """The same of its one run."""
    return lambda here, settings, runs: {name: runs[0].pk, **more}


ANSWERING: Final = {
    "references": Kind(_references, lines=_written, forecast=_forecast_references),
    # Verdicts of the agents before are none of these.
    "agents": Kind(_agents, _keys("agents", judges=[]), _traces, forecast=_forecast_agents),
    "judge": Kind(_judge, _keys("judges"), _judged, forecast=_forecast_judge),
    "answers": Kind(_answers, _key("answers", grades=None), _answered, forecast=_forecast_answers),
    "grade": Kind(_grade, _key("grades"), _graded, forecast=_forecast_grade),
    "support": Kind(_support, lines=_supported, forecast=_forecast_support),
    "release": Kind(_release, _key("release"), lambda here, runs: sorted(runs[0].files.items())),
}
