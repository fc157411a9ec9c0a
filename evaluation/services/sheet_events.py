"""Which events can change a score."""

from corpus.models import Benchmark
from kit.models import Event

# Events of these kinds change no label, aspect or run that is scored. A case is none of them:
# while people vote on it, its pair's label since the import does not count (view.py).
_BESIDE = (
    "annotate.activespan",
    "annotate.adjudication",
    "annotate.answercomparison",
    "annotate.assignment",
    "annotate.batch",
    "annotate.batchitem",
    "annotate.consent",
    "annotate.draft",
    "annotate.guideline",
    "annotate.problemtag",
    "annotate.referenceanswer",
    "annotate.referencepanel",
    "annotate.spotcheck",
    "annotate.vote",
    "annotate.votermessage",
    "annotate.voteslot",
    "annotate.votingplan",
    "annotate.weightscale",
    "corpus.cleanedpage",
    "corpus.cleaningrun",
    "corpus.corpusversion",
    "corpus.membership",
    "corpus.pagefetch",
    "corpus.pool",
    "corpus.poolbuild",
    "corpus.runcomputation",
    "debate.answerrun",
    "debate.auditsample",
    "debate.debaterun",
    "debate.hintrun",
    "debate.prompt",
    "debate.trial",
    "evaluation.experiment",
    "evaluation.release",
)


def last_event(benchmark: Benchmark) -> int:
    """The last event that could; 0 without any."""
    events = Event.objects.filter(scope=benchmark.slug).exclude(target_type__in=_BESIDE)
    return events.order_by("-pk").values_list("pk", flat=True).first() or 0
