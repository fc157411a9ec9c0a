"""Computing a retrieval run here, as long work."""

from django.db import models

from corpus.benchmarks.models import Benchmark
from corpus.runs.models import RetrievalRun
from corpus.texts.models import CorpusVersion
from llm.ledger.accounts import PayingRun


class Method(models.TextChoices):
    """How passages are ranked."""

    BM25 = "bm25", "BM25"
    TFIDF = "tfidf", "TF-IDF"
    LSA = "lsa", "LSA"
    EMBEDDINGS = "embeddings", "Embeddings of a model"
    HYBRID = "hybrid", "Hybrid of two runs"


class RunComputation(PayingRun):
    """Ranks the corpus for every query by one method; `config` is frozen when it is asked for.

    `run` holds its lists while they are written, unseen until the last; `report` says what was
    met on the way: corpora with their hashes, queries without text.
    """

    task_name = "corpus.compute_run"
    page_route = "run-computation"
    noun = "computed run"

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.PROTECT, related_name="run_computations"
    )
    name = models.CharField(max_length=200)
    # Or the name of a retriever that was installed.
    method = models.CharField(max_length=40, choices=Method.choices)
    config = models.JSONField(default=dict)
    # The derived corpus version whose ids it ranks; null: the loaded texts.
    corpus_version = models.ForeignKey(
        CorpusVersion, null=True, on_delete=models.PROTECT, related_name="+"
    )
    run = models.OneToOneField(
        RetrievalRun, null=True, on_delete=models.SET_NULL, related_name="computation"
    )
    report = models.JSONField(default=dict)
    practice = models.BooleanField(default=False)

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def asked(self) -> list[tuple[str, str]]:
        """The endpoint that embeds, of that method alone."""
        if self.method != Method.EMBEDDINGS:
            return []
        return [(self.config["endpoint"], self.config["model"])]
