"""One of everything that an address can name, and the addresses."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from django.contrib.auth.models import User
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from annotate.assignments.services import claim_query
from annotate.drafts.services import keep_draft
from annotate.models import (
    AnswerComparison,
    AnswerPair,
    Aspect,
    AspectChange,
    Batch,
    BatchItem,
    EscalationCase,
    ExamAttempt,
    ExamItem,
    GoldPassage,
    GradedAnswer,
    GradingSample,
    ProblemTag,
    ReferenceAnswer,
    ReferenceItem,
    ReferencePanel,
    RescoreSample,
    RescoreTask,
    Review,
    ReviewPoint,
    ReviewStatus,
    SentenceItem,
    Vote,
    VotingPlan,
)
from annotate.workspace.collecting import collect_text, collect_url
from corpus.benchmarks.services import add_person
from corpus.models import (
    Benchmark,
    CleanedPage,
    CleaningRun,
    CorpusVersion,
    Delivery,
    ExpansionItem,
    ExpansionRun,
    ImportRun,
    Invitation,
    Pool,
    PoolBuild,
    PoolEntry,
    QuerySource,
    RerankRun,
    RunComputation,
    Violation,
    Webhook,
)
from debate.dream.prompting import PROMPTS
from debate.models import AnswerRun, Debate, DebateRun, HintRun, Trial
from debate.runs.prompts import write_prompt
from evaluation.models import (
    AgentItem,
    AgentRun,
    Chain,
    Experiment,
    GradeRun,
    JudgeRun,
    MergeConflict,
    NoiseCheck,
    PipelineRun,
    RagAnswer,
    RagRun,
    RagSource,
    Release,
    ReleasePush,
    SupportRun,
    SupportSet,
    TrainingRun,
    Transfer,
)
from kit.account.links import create_link
from kit.models import Event
from llm.ledger.accounts import open_account
from llm.models import Call
from tests.annotate.world import make_snapshot
from tests.factories import (
    make_benchmark,
    make_document,
    make_gold,
    make_member,
    make_passage,
    make_pool,
    make_query,
    make_ranking,
)
from tests.routes.rows import Row


def make_everything(folder: Path) -> SimpleNamespace:
    """One of everything that an address can name, all in the domain biology."""
    benchmark = make_benchmark(domains=("biology", "robotics"))
    people = {
        # Of another benchmark alone: whoever is of none gets no more.
        "stranger": make_member(make_benchmark("elsewhere"), "stranger", "annotator", "admin"),
        "annotator": make_member(benchmark, "annotator", "annotator", domains=("biology",)),
        "outsider": make_member(benchmark, "outsider", "annotator", domains=("robotics",)),
        "reviewer": make_member(benchmark, "reviewer", "reviewer"),
        "admin": make_member(benchmark, "admin", "admin"),
    }
    # Made by the benchmark itself: only such an account gets a new link from its admin.
    member, _ = add_person(benchmark=benchmark, username="spare", roles=["annotator"], actor=None)
    spare = member.user
    query, passage = make_query(benchmark), make_passage(benchmark)
    make_gold(query, passage)
    aspect = Aspect.objects.create(query=query, k=1, position=1, content="One point.")
    empty = Aspect.objects.create(query=query, k=2, position=2, content="Another point.")
    GoldPassage.objects.create(aspect=aspect, query=query, passage=passage)
    seen = {"query": query, "snapshot": make_snapshot()}
    case = EscalationCase.objects.create(origin="debate:1", passage=passage, **seen)
    batch = open_batch_of(people["annotator"], benchmark, case)
    pool = make_pool(benchmark, (query, passage))
    of_aspects = Pool.objects.create(benchmark=benchmark, name="gaps", of_aspects=True)
    run = DebateRun.objects.create(
        benchmark=benchmark, pool=pool, name="run", endpoint="practice", model="m"
    )
    call = Call.objects.create(
        key="0", attempt=1, request={"messages": []}, created_at=timezone.now(),
        account=open_account(run),
    )  # fmt: skip
    panel = ReferencePanel.objects.create(
        benchmark=benchmark, name="experts", seed=1, practice_items=0, status="open"
    )
    open_case, undecided = (
        EscalationCase.objects.create(
            origin=f"panel:{n}", kind="reference", status=status,
            passage=make_passage(benchmark, f"panel/{n}"), **seen,
        )
        for n, status in enumerate(("open", "expert"))
    )  # fmt: skip
    (folder / "README.md").write_text("card")
    release = Release.objects.create(
        benchmark=benchmark,
        version="0.1.0",
        status="done",
        folder=str(folder),
        files={"README.md": "0"},
    )
    experiment = Experiment.objects.create(benchmark=benchmark, name="e", reference="people")
    experiment.runs.add(run)
    text = (PROMPTS / "debate_turn.txt").read_text() + "Be brief."
    prompt = write_prompt(benchmark=benchmark, text=text, actor=people["admin"])
    queued = ImportRun.objects.create(benchmark=benchmark, format="bright", path="x", label="x")
    ranked = make_ranking(query, passage.pid)
    version = CorpusVersion.objects.current(benchmark)
    cleaning = CleaningRun.objects.create(
        benchmark=benchmark, source=version, version=version, name="c", preset="marcus",
        status="done",
    )  # fmt: skip
    cleaned = CleanedPage.objects.create(run=cleaning, domain=query.domain, page_id="page/a.txt")
    place = {"start": 0, "end": 1, "out_start": 0, "out_end": 1}
    violation = Violation.objects.create(
        page=cleaned, stage="safe_clean", part=0, window=0, number=0, kind="changed", **place
    )
    page = collect_text(query=query, text="A page.", actor=people["annotator"])
    exam_item = ExamItem.objects.create(domain=query.domain, question="q", passage="p", label=1)
    attempt = ExamAttempt.objects.create(
        person=people["annotator"], domain=query.domain, pass_mark=90, status="failed"
    )
    review = Review.objects.create(
        query=query, reviewer=people["reviewer"], status=ReviewStatus.CHECKING
    )
    point = ReviewPoint.objects.create(review=review, kind="aspects", key="sound", status="fine")
    sample = RescoreSample.objects.create(benchmark=benchmark, seed=1, size=1)
    task = RescoreTask.objects.create(sample=sample, query=make_query(benchmark, "2"), place=0)
    Aspect.objects.create(query=task.query, k=1, position=1, content="Of another query.")
    fetch = collect_url(query=query, url="https://page.test", actor=people["annotator"])
    held = claim_query(query=make_query(benchmark, "held"), actor=people["annotator"])
    compared = AnswerComparison.objects.create(
        benchmark=benchmark, seed=1, size=1, created_by=people["admin"], closed_at=timezone.now()
    )
    webhook = Webhook.objects.create(
        benchmark=benchmark, url="https://hook.test/", kinds=["runs"], seen=0
    )
    told = Event.objects.order_by("pk").first()
    agent_run = AgentRun.objects.create(
        benchmark=benchmark,
        name="agent",
        retriever="bm25",
        config={"k": 5, "rounds": 3},
        endpoint="practice",
        model="m",
    )
    rag_run = RagRun.objects.create(
        benchmark=benchmark,
        name="rag",
        harness="short",
        config={"domain": "", "prompts": {}, "prompt_version": 1},
        endpoint="practice",
        model="m",
    )
    rag_source = RagSource.objects.create(run=rag_run, kind="none", name="no retrieval")
    expansion = ExpansionRun.objects.create(
        benchmark=benchmark, name="e", method="rewrite", endpoint="practice", model="m"
    )
    ExpansionItem.objects.create(run=expansion, query=query)
    support_set = SupportSet.objects.create(
        benchmark=benchmark, kind="import", name="support", is_split=True
    )
    drawn = GradingSample.objects.create(
        benchmark=benchmark, kind="sentences", seed=1, size=1, people=1, created_by=people["admin"]
    )
    drafted = {"place": "/b/demo/queries/1/collect/text/", "name": "text"}
    return SimpleNamespace(
        answer=ReferenceAnswer.objects.create(
            query=query, author="person", version=1, text="So.", created_by=people["annotator"]
        ),
        answer_run=AnswerRun.objects.create(
            benchmark=benchmark,
            endpoint="practice",
            model="m",
            config={"prompt": "", "temperature": 0},
        ),
        comparison=compared,
        invitation=Invitation.objects.create(
            benchmark=benchmark, user=people["stranger"], roles=["annotator"]
        ),
        pair=AnswerPair.objects.create(comparison=compared, query=query, place=0),
        assignment=held,
        draft=keep_draft(person=people["annotator"], text="typed", **drafted),
        document=make_document(benchmark),
        ranked=ranked,
        version=version,
        cleaning=cleaning,
        violation=violation,
        page=page,
        change=AspectChange.objects.create(
            query=query, kind="add", after=[{"pk": empty.pk, "k": 2, "content": "", "scale": ""}]
        ),
        tag=ProblemTag.objects.create(query=query, problem="incomplete_gold"),
        exam_item=exam_item,
        attempt=attempt,
        review=review,
        point=point,
        task=task,
        fetch=fetch,
        people=people,
        token=create_link(user=spare),
        membership=member,
        query=query,
        passage=passage,
        aspect=empty,
        case=case,
        run=run,
        pool=pool,
        proposal=PoolEntry.objects.create(
            pool=of_aspects, query=query, passage=passage, aspect=empty.k
        ),
        pool_build=PoolBuild.objects.create(benchmark=benchmark, runs=[ranked.run_id], depth=10),
        debate=Debate.objects.create(run=run, query=query, passage=passage),
        release=release,
        transfer=Transfer.objects.create(benchmark=benchmark, kind="merge", status="running"),
        conflict=MergeConflict.objects.create(
            benchmark=benchmark, kind="gold", query=query, passage=passage, ours="a1", theirs="a2"
        ),
        push=ReleasePush.objects.create(of_release=release, repository="garden/weather"),
        experiment=experiment,
        panel=panel,
        item=ReferenceItem.objects.create(panel=panel, case=open_case),
        undecided=ReferenceItem.objects.create(panel=panel, case=undecided),
        hint_run=HintRun.objects.create(
            panel=panel, endpoint="practice", model="m", prompt_version=1
        ),
        prompt=prompt,
        trial=Trial.objects.create(run=run, kind="prompt", prompt=prompt, seed=1),
        import_run=queued,
        noise=NoiseCheck.objects.create(
            benchmark=benchmark, metric="nDCG@10", view="base", if_relevant=1, if_not=0
        ),
        computation=RunComputation.objects.create(benchmark=benchmark, name="c", method="bm25"),
        reranking=RerankRun.objects.create(
            benchmark=benchmark,
            name="r",
            method="oracle",
            source=ranked.run,
            config={"depth": 100, "scheme": "min-max"},
        ),
        query_source=QuerySource.objects.create(benchmark=benchmark, name="words"),
        expansion=expansion,
        pipeline=PipelineRun.objects.create(
            benchmark=benchmark,
            name="p",
            preset="v1",
            retriever=ranked.run,
            steps=[
                {
                    "name": "expanded",
                    "kind": "expand",
                    "of": ["retriever"],
                    "child": None,
                    "run": None,
                }
            ],
        ),
        vote=Vote.objects.create(case=case, voter=spare, label=1),
        batch=batch,
        call=call,
        webhook=webhook,
        delivery=Delivery.objects.create(webhook=webhook, event=told, due_at=timezone.now()),
        graded=GradedAnswer.objects.create(
            sample=GradingSample.objects.create(
                benchmark=benchmark, seed=1, size=1, people=1, created_by=people["admin"]
            ),
            query=query,
            origin="agent:1:1",
            text="So.",
        ),
        generated=GradedAnswer.objects.create(
            sample=GradingSample.objects.create(
                benchmark=benchmark,
                kind="truths",
                seed=1,
                size=1,
                people=1,
                created_by=people["admin"],
            ),
            query=query,
            origin=f"rag:{rag_run.pk}:1",
            text="So.",
            truths=["so"],
        ),
        chain=Chain.objects.create(benchmark=benchmark, name="chain", plan="", total=1),
        agent_run=agent_run,
        agent_item=AgentItem.objects.create(run=agent_run, query=query),
        rag_run=rag_run,
        rag_source=rag_source,
        rag_answer=RagAnswer.objects.create(run=rag_run, source=rag_source, query=query),
        grade_run=GradeRun.objects.create(
            benchmark=benchmark,
            rag_run=rag_run,
            config={
                "prompt": "",
                "prompt_version": 1,
                "profile": "strict",
                "temperature": 0.0,
                "reasoning_effort": "",
            },
            endpoint="practice",
            model="m",
        ),
        training_run=TrainingRun.objects.create(
            benchmark=benchmark, name="to train on", config={}, endpoint="practice", model="m"
        ),
        support_set=support_set,
        support_run=SupportRun.objects.create(
            benchmark=benchmark,
            support_set=support_set,
            config={
                "prompt": "",
                "prompt_version": 1,
                "temperature": 0.0,
                "reasoning_effort": "",
            },
            endpoint="practice",
            model="m",
        ),
        sentence=SentenceItem.objects.create(
            sample=drawn,
            query=query,
            passage=passage,
            origin=f"claim:{support_set.pk}:1",
            text="So.",
            context="So.",
        ),
        judge_run=JudgeRun.objects.create(
            benchmark=benchmark,
            agent_run=agent_run,
            mode="aspect_rubric",
            config={"prompt": "", "prompt_version": 1},
            endpoint="practice",
            model="m",
        ),
    )


def open_batch_of(voter: User, benchmark: Benchmark, case: EscalationCase) -> Batch:
    """A batch of one item, taken under a plan that has gone since."""
    plan = VotingPlan.objects.create(benchmark=benchmark, version=1, batch_size=1)
    batch = Batch.objects.create(plan=plan, voter=voter, size=1, expires_at=timezone.now())
    BatchItem.objects.create(batch=batch, place=1, case=case)
    VotingPlan.objects.create(benchmark=benchmark, version=2)
    return batch


def address(name: str, row: Row, world: SimpleNamespace) -> str:
    """The route's URL, its arguments filled from the world."""
    if name == "favicon":
        return "/favicon.ico"
    keys: list[tuple[str, Any]] = [
        ("chain", world.chain),
        ("rag-answer", world.rag_answer),
        ("rag-cell", world.rag_source),
        ("rag-sample-", world.generated.sample),
        ("rag-", world.rag_run),
        ("grade-", world.grade_run),
        ("training-", world.training_run),
        ("agent-trace", world.agent_item),
        ("agent-", world.agent_run),
        ("judge-sample", world.graded.sample),
        ("support-sample-", world.sentence.sample),
        ("support-run", world.support_run),
        ("support-verdicts", world.support_run),
        ("support-", world.support_set),
        ("sentence", world.sentence),
        ("answer-grade", world.graded),
        ("judge-", world.judge_run),
        ("answer-run", world.answer_run),
        ("answer-items", world.answer_run),
        ("answer-pair", world.pair),
        ("answer", world.query),
        ("short-answers", world.query),
        ("comparison", world.comparison),
        ("panel", world.panel),
        ("spot-check", world.panel),
        ("override-log", world.panel),
        ("hint-runs", world.panel),
        ("hint-run", world.hint_run),
        ("person", world.membership),
        ("invit", world.invitation),
        ("import", world.import_run),
        ("assignment", world.assignment),
        ("draft", world.draft),
        ("exam-start", world.query.domain),
        ("exam-item", world.exam_item),
        ("exam", world.attempt),
        ("review-start", world.query),
        ("review", world.review),
        ("rescoring", world.task),
        ("query-wordings", world.query),
        ("query-source", world.query_source),
        ("wordings", world.query_source),
        ("query", world.query),
        ("gold-passages", world.query),
        ("aspects", world.query),
        ("aspect-history", world.query),
        ("change-undo", world.query),
        ("problem-", world.query),
        ("aspect-add", world.query),
        ("collect", world.query),
        ("fetch", world.query),
        ("segment", world.query),
        ("page", world.query),
        ("aspect", world.aspect),
        ("passage-", world.query),
        ("passage", world.passage),
        ("vote-batch", world.batch),
        ("vote-item", world.batch),
        ("batch", world.batch),
        ("vote", world.vote),
        ("feedback-of", world.people["annotator"]),
        ("feedback-vote", world.vote),
        ("decision", world.vote),
        ("debate", world.run),
        ("release", world.release),
        ("transfer", world.transfer),
        ("merge-conflict", world.conflict),
        ("push", world.push),
        ("leaderboard", world.ranked.run),
        ("noise", world.noise),
        ("experiment", world.experiment),
        ("expansion", world.expansion),
        ("pipeline", world.pipeline),
        ("prompt", world.prompt),
        ("trial", world.trial),
        ("document", world.document),
        ("run-computation", world.computation),
        ("rerank-", world.reranking),
        ("retrieval-run", world.ranked.run),
        ("ranked-list", world.ranked.run),
        ("candidate", world.proposal),
        ("pool-build", world.pool_build),
        ("pool", world.pool),
        ("version", world.version),
        ("cleaning", world.cleaning),
        ("call", world.call),
        ("webhook", world.webhook),
        ("delivery", world.delivery),
        ("account-token", SimpleNamespace(pk=0)),
        ("account-", SimpleNamespace(pk=0)),
        ("one-account", SimpleNamespace(pk=0)),
        ("site-person", SimpleNamespace(pk=0)),
        ("sign-in", SimpleNamespace(pk=0)),
        ("run-priority", world.run),
    ]
    short = name.removeprefix("api-")
    pk = next((thing.pk for prefix, thing in keys if short.startswith(prefix)), None)
    offered = {
        "slug": "demo",
        "pk": pk,
        "case": world.case.public_id,
        "answer_pk": world.answer.pk,
        "passage_pk": world.passage.pk,
        "query_pk": world.query.pk,
        "violation_pk": world.violation.pk,
        "page_pk": world.page.pk,
        "change_pk": world.change.pk,
        "tag_pk": world.tag.pk,
        "fetch_pk": world.fetch.pk,
        "debate": world.debate.pk,
        "place": 1,
        "aspect_pk": world.aspect.pk,
        "domain": world.query.domain_id,
        "item": (world.undecided if "check" in name else world.item).pk,
        "point_pk": world.point.pk,
        "token": world.token,
        "said": "none",
        "path": "README.md",
        "kind": "debate.run",
        "older": world.release.pk,
        **row.kwargs,
    }
    wanted = next(p for p in patterns(get_resolver()) if p.name == name).pattern.converters
    return reverse(name, kwargs={key: offered[key] for key in wanted})


def patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern)
        else:
            yield pattern
