"""Small corpora to clean, and runs over them."""

from typing import Any

from corpus.cleaning.services import start_cleaning
from corpus.cleaning.tasks import drive_claimed
from corpus.models import Benchmark, CleaningRun, CorpusVersion, Passage
from llm import endpoints
from tests.factories import make_benchmark, make_gold, make_passage, make_query

FERNS = (
    "Jump to content\n# Ferns\n"
    "Ferns have no seeds. They spread by 120 spores, which the wind takes.\n"
    "# Spores\nA spore is a single cell. It is smaller than any seed in the garden."
)
MOTHS = "Moths fly at night. They roll their backs to the light and fly in loops around a lamp."
MENU = "Main page\nContents\nRandom article\nPrivacy policy | About us"


def make_corpus(slug: str = "demo") -> Benchmark:
    """Two queries; a page with scattered gold, one of pure boilerplate, one id without text."""
    benchmark = make_benchmark(slug)
    first, second = make_query(benchmark, "1"), make_query(benchmark, "2")
    ferns = make_passage(benchmark, "garden/ferns_0.txt", text=FERNS, title="Ferns")
    moths = make_passage(benchmark, "garden/ferns_1.txt", text=MOTHS)
    more = make_passage(benchmark, "garden/ferns_2.txt", text=FERNS.replace("120", "130"))
    make_passage(benchmark, "menu/page_0.txt", text=MENU)
    lone = make_passage(benchmark, "alone/moths_0.txt", text=MOTHS + " That is all.")
    empty = make_passage(benchmark, "gone/page_0.txt", text=None)
    make_gold(first, ferns, more)
    make_gold(second, more, empty)
    make_gold(second, lone, moths, label=0)
    return benchmark


def clean(benchmark: Benchmark, endpoint: Any = None, **options: Any) -> CleaningRun:
    """Start a run over the current version and drive it to its end in this process."""
    source = options.pop("source", None) or CorpusVersion.objects.current(benchmark)
    options.setdefault("preset", "marcus")
    if options["preset"] == "dchunk" and endpoint is None:
        with endpoints.practice_if_unconfigured() as practice:
            return clean(benchmark, practice, source=source, **options)
    run = start_cleaning(
        benchmark=benchmark, source=source, endpoint=endpoint, actor=None, claimed=True, **options
    )
    return drive(run)


def drive(run: CleaningRun) -> CleaningRun:
    """Drive a claimed run to its end."""
    drive_claimed(run)
    return CleaningRun.objects.select_related("version", "source", "benchmark").get(pk=run.pk)


def texts(run: CleaningRun) -> dict[str, str | None]:
    """What the run made, by id."""
    rows = Passage.objects.filter(version=run.version).order_by("pid")
    return dict(rows.values_list("pid", "text"))
