"""`manage.py judge_sample SLUG`: draw what machines judged for people to judge, close, count."""

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from annotate.grading.models import GradingSample, SampleKind
from annotate.grading.sentences import POST_EDIT
from annotate.grading.services import PEOPLE, SEED, SIZE, close_sample, with_progress
from annotate.rights import named_admin
from corpus.access import Access
from corpus.management.named import benchmark_named
from corpus.models import Benchmark
from debate.audits.services import audited, draw_audit
from evaluation.agents.trust.people import draw_sample
from evaluation.models import SupportSet
from evaluation.rag import people as rag
from evaluation.support import report as citations
from kit.errors import Refused
from kit.management.verbs import VerbCommand


class Command(VerbCommand):
    help = (
        "Print how far people are with what was drawn for them of machines' work. With --draw, "
        "draw of what is named: answers of agents (--run), generated answers (--answers), "
        "citations (--citations), or labels of a debate or a filter (--debate). With --close, ask "
        "nobody about a sample any more."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the benchmark")
        parser.add_argument("--draw", action="store_true", help="draw a new sample")
        parser.add_argument(
            "--run", type=int, action="append", default=[], help="an agent run; several together"
        )
        of = parser.add_mutually_exclusive_group()
        of.add_argument("--answers", type=int, metavar="RUN", help="a RAG run")
        of.add_argument("--citations", type=int, metavar="SET", help="answers that are checked")
        of.add_argument("--debate", type=int, metavar="RUN", help="a run that labelled pairs")
        parser.add_argument("--size", type=int, default=SIZE, help="how many to draw")
        parser.add_argument("--seed", type=int, default=SEED)
        parser.add_argument(
            "--people", type=int, default=PEOPLE, help="people for each; pairs have the plan's"
        )
        parser.add_argument(
            "--post-edit",
            type=int,
            default=POST_EDIT,
            help="percent of citations shown with the machines' verdicts",
        )
        parser.add_argument(
            "--by-error",
            action="store_true",
            help="more of the labels that earlier audits are least sure of",
        )
        parser.add_argument("--close", type=int, metavar="SAMPLE", help="a sample by number")
        parser.add_argument("--as", dest="person", default="", help="the admin who does it")

    def handle(self, *args: Any, **options: Any) -> None:
        benchmark = benchmark_named(options["slug"])
        if options["draw"]:
            _draw(benchmark, named_admin(benchmark, options["person"]), options)
        elif options["close"]:
            sample = _found(GradingSample.objects.filter(benchmark=benchmark), options["close"])
            close_sample(sample=sample, access=named_admin(benchmark, options["person"]))
        self.stdout.write(json.dumps([*_samples(benchmark), *_audits(benchmark)]))


def _draw(benchmark: Benchmark, access: Access, options: dict[str, Any]) -> None:
    given = {name: options[name] for name in ("size", "seed", "people")}
    if options["run"] and (options["answers"] or options["citations"] or options["debate"]):
        raise Refused("Draw of one thing at a time: leave out --run, or the other.")
    if options["answers"]:
        rag.draw(access=access, run=_found(benchmark.rag_runs, options["answers"]), **given)
    elif options["citations"]:
        of = _found(SupportSet.objects.filter(benchmark=benchmark), options["citations"])
        citations.draw(access=access, of=of, post_edit=options["post_edit"], **given)
    elif options["debate"]:
        del given["people"]
        run = _found(benchmark.debate_runs, options["debate"])
        draw_audit(run=run, actor=access.user, by_error=options["by_error"], **given)
    else:
        runs = list(benchmark.agent_runs.filter(pk__in=options["run"]))
        draw_sample(access=access, runs=runs, **given)


def _found(rows: Any, key: int) -> Any:
    found = rows.filter(pk=key).first()
    if found is None:
        raise Refused(f"There is no {rows.model._meta.verbose_name} {key} here.")
    return found


def _samples(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """Newest first, of answers and of citations."""
    columns = ("pk", "kind", "seed", "people", "drawn", "judged", "given", "closed_at")
    names = ("sample", "of", "seed", "people", "drawn", "judged", "verdicts", "closed")
    for items, is_sentences in (("answers", False), ("sentences", True)):
        rows: QuerySet[Any] = GradingSample.objects.filter(benchmark=benchmark)
        of_kind = {"kind": SampleKind.SENTENCES}
        rows = rows.filter(**of_kind) if is_sentences else rows.exclude(**of_kind)
        for row in with_progress(rows, items).values_list(*columns):
            yield dict(zip(names, (*row[:-1], row[-1] is not None), strict=True))


def _audits(benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """How far audits of labels are, by run."""
    for run in benchmark.debate_runs.filter(audits__isnull=False).distinct().order_by("-pk"):
        for each in audited(run):
            told = {"audit": each.sample.pk, "of": "pairs", "seed": each.sample.seed}
            yield told | {"run": run.pk, "drawn": each.size, "judged": each.size - each.undecided}
