"""Kept sheets of answers, grades and retrieval, written by hand: for boards of known numbers."""

from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User

from corpus.models import Benchmark, Query, RetrievalRun
from evaluation.models import DomainScore, GradeRun, RagAnswer, RagRun, RagSource, ScoreSheet
from tests.factories import domain_of, make_benchmark, make_member, make_version

Values = Sequence[float | None]
CONFIG = {"domain": "", "max_tokens": 1, "temperature": 0.0, "reasoning_effort": "", "prompts": {}}
GRADER = {
    "profile": "strict", "temperature": 0.0, "reasoning_effort": "", "prompt": "p" * 64,
    "prompt_version": 1,
}  # fmt: skip


class Sheets:
    """One domain with so many queries; systems and gradings are added with their values."""

    def __init__(self, count: int, *, harness: str = "short") -> None:
        self.benchmark: Benchmark = make_benchmark("sheets")
        self.version = make_version(self.benchmark)
        self.admin: User = make_member(self.benchmark, "admin", "admin")
        domain = domain_of(self.benchmark)
        Query.objects.bulk_create(
            Query(domain=domain, qid=f"q{n}", text=f"Why {n}?", answers=["so"])
            for n in range(count)
        )
        self.queries = list(Query.objects.order_by("pk"))
        self.run = RagRun.objects.create(
            benchmark=self.benchmark, name="answers", harness=harness, config=CONFIG,
            endpoint="e", model="m", status="done", total=1, done=1,
        )  # fmt: skip
        self.sheet = ScoreSheet.objects.create(benchmark=self.benchmark, status="done")

    def source(self, kind: str, name: str, correct: Values, *, version=None, **more) -> RagSource:
        """A source whose answers are that correct by string."""
        sheet = {"queries": [q.pk for q in self.queries], "failed": 0, "uninformed": 0}
        sheet |= {"missing": 0, "accuracy": correct, "exact": correct, "f1": correct}
        return RagSource.objects.create(
            run=self.run, kind=kind, name=name, corpus_version=version, sheet=sheet, **more
        )

    def system(
        self,
        name: str,
        correct: Values,
        retrieved: Mapping[str, Mapping[str, Values]],
        version=None,
    ) -> RagSource:
        """A system with its scores by gold view and metric."""
        ranked = RetrievalRun.objects.create(
            benchmark=self.benchmark, name=name, digest=name, corpus_version=version
        )
        DomainScore.objects.bulk_create(
            DomainScore(
                sheet=self.sheet, run=ranked, domain=domain_of(self.benchmark), view=view,
                qids=[q.qid for q in self.queries], values=values,
            )
            for view, values in retrieved.items()
        )  # fmt: skip
        return self.source("run", name, correct, version=version, retrieval_run=ranked)

    def graded(self, model: str, values: Mapping[RagSource, Values], **config: str) -> GradeRun:
        """A grading with these values of each source."""
        return GradeRun.objects.create(
            benchmark=self.benchmark, rag_run=self.run, config=GRADER | config, endpoint="e",
            model=model, status="done",
            sheet={str(source.pk): given for source, given in values.items()},
        )  # fmt: skip

    def answer(self, source: RagSource) -> None:
        """Rows behind the sheet, so that cells can be opened."""
        RagAnswer.objects.bulk_create(
            RagAnswer(run=self.run, source=source, query=query, state="answered", answers=["so"])
            for query in self.queries
        )
