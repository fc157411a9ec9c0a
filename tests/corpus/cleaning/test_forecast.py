"""What a cleaning was said to send, against what the ledger says that it sent."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.db.models import Count, Sum

from corpus.cleaning import forecast as forecasts
from corpus.cleaning.forecast import forecast
from corpus.models import Benchmark, CleaningRun, CorpusVersion, Document
from llm.models import Call
from tests.corpus.cleaning.rooms import FERNS, MENU, MOTHS, clean, drive
from tests.corpus.scripted import cleaner
from tests.factories import make_benchmark, make_gold, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)
WITHIN = 0.15


@pytest.fixture(autouse=True)
def _fresh() -> None:
    cache.clear()


def lines(count: int, of: str = "ferns") -> str:
    return "\n".join(f"Line {n} tells of {of} and of lamp {n * 7 % 11}." for n in range(count))


def sections(count: int, of: str = "moths") -> str:
    return "\n\n".join(f"# Part {n}\n{lines(6, f'{of} {n}')}" for n in range(count))


def source_of_page(count: int) -> str:
    menu = "".join(f"<li><a href='/{n}'>Menu {n}</a></li>" for n in range(30))
    text = "".join(f"<h2>Part {n}</h2><p>{lines(5)}</p>" for n in range(count))
    return f"<html><body><nav><ul>{menu}</ul></nav><article>{text}</article></body></html>"


# Texts of passages by id, of loaded pages by id, ids of gold; preset and options.
Corpus = tuple[dict[str, str], dict[str, str], Sequence[str], str, dict[str, Any]]
CORPORA: dict[str, Corpus] = {
    "short passages": (
        {f"s/p{n}_{k}.txt": f"{MOTHS} {n} {k}" for n in range(9) for k in range(3)},
        {},
        ["s/p1_1.txt", "s/p4_0.txt", "s/p4_2.txt"],
        "marcus",
        {},
    ),
    "boilerplate": (
        {f"m/p{n}_0.txt": f"{MENU}\n{lines(n)}\n{MENU}" for n in range(12)},
        {},
        ["m/p3_0.txt", "m/p0_0.txt"],
        "marcus",
        {},
    ),
    "menus that recur on a site": (
        {
            f"r{n}_0.txt": f"The Valley\nSheep and dogs\nTwo lakes\n{lines(9, f'owls {n}')}"
            for n in range(9)
        },
        {},
        ["r1_0.txt", "r4_0.txt"],
        "marcus",
        {},
    ),
    "long loaded pages": ({}, {"a.txt": lines(900), "b.txt": sections(90)}, [], "marcus", {}),
    "loaded pages with gold": (
        {"a_0.txt": lines(5), "b_0.txt": f"# Part 3\n{lines(6, 'moths 3')}"},
        {"a.txt": lines(400), "b.txt": sections(60)},
        ["a_0.txt", "b_0.txt"],
        "marcus",
        {},
    ),
    "many windows": (
        {"w/p_0.txt": sections(30), "w/p_1.txt": lines(200), "w/q_0.txt": sections(12)},
        {"c.txt": sections(40)},
        ["w/p_0.txt"],
        "marcus",
        {"window": 300},
    ),
    "sources of pages": (
        {f"h/p{n}_0.txt": source_of_page(n + 1) for n in range(6)},
        {"h.html": source_of_page(60)},
        ["h/p2_0.txt"],
        "marcus_c",
        {"window": 1000},
    ),
    "the same texts again": (
        {f"d/p{n}_0.txt": FERNS if n % 2 else MOTHS for n in range(20)},
        {},
        ["d/p3_0.txt"],
        "marcus",
        {},
    ),
    "other languages": (
        {
            "z/p_0.txt": "蕨类植物没有种子。它们靠孢子繁殖。\n" * 40,
            "z/q_0.txt": "Папоротники не имеют семян. Их споры разносит ветер.\n" * 40,
            "z/r_0.txt": "Farne haben keine Samen: Größe, Maß, Öl.\n" * 40,
        },
        {},
        ["z/q_0.txt"],
        "marcus_s",
        {"window": 500},
    ),
    "code and tables": (
        {
            f"t/p{n}_0.txt": "```\nif x < 3:\n    go()\n```\n| a | b |\n| --- | --- |\n"
            + "".join(f"| {k} | {k * n} |\n" for k in range(40))
            for n in range(5)
        },
        {},
        ["t/p1_0.txt", "t/p2_0.txt"],
        "marcus",
        {},
    ),
    "vectors of long texts": (
        {"v/p_0.txt": lines(500), "v/q_0.txt": MOTHS},
        {"v.txt": sections(120), "short.txt": MOTHS},
        ["v/p_0.txt"],
        "dchunk",
        {"long_from": 500, "embedder": "model"},
    ),
}


def make(corpus: Corpus, slug: str = "demo") -> Benchmark:
    passages, pages, gold, *_ = corpus
    benchmark = make_benchmark(slug)
    version = CorpusVersion.objects.current(benchmark)
    query = make_query(benchmark, "1")
    documents = {
        name: Document.objects.create(version=version, domain=query.domain, doc_id=name, text=text)
        for name, text in pages.items()
    }
    for pid, text in passages.items():
        page = documents.get(f"{pid.rpartition('_')[0]}.txt")
        passage = make_passage(benchmark, pid, text=text, document=page)
        if pid in gold:
            make_gold(query, passage)
    return benchmark


def paid(*runs: CleaningRun) -> tuple[int, int, int]:
    """Calls, tokens in and tokens out of the runs, by the ledger."""
    calls = Call.objects.filter(account__in=[run.account_id for run in runs])
    sums = calls.aggregate(n=Count("pk"), given=Sum("input_tokens"), taken=Sum("output_tokens"))
    return sums["n"], sums["given"] or 0, sums["taken"] or 0


def expect(said: dict[str, Any], really: tuple[int, int, int]) -> None:
    calls, given, taken = really
    assert calls > 0
    assert said["calls"] == pytest.approx(calls, rel=WITHIN)
    assert said["input_tokens"] == pytest.approx(given, rel=WITHIN)
    assert said["output_tokens"] == pytest.approx(taken, rel=WITHIN)


@pytest.mark.few
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if place > 1 else [])
        for place, name in enumerate(CORPORA)
    ],
)
def test_a_forecast_is_what_the_ledger_then_says(practice, name: str) -> None:
    benchmark = make(CORPORA[name])
    *_, preset, options = CORPORA[name]
    source = CorpusVersion.objects.current(benchmark)
    said = forecast(source, preset, practice, options=options)
    run = clean(benchmark, practice, preset=preset, options=options)
    assert run.status == "done"
    expect(said, paid(run))
    # All of it is paid for now.
    again = forecast(source, preset, practice, options=options)
    assert (again["calls"], again["input_tokens"], again["answered"]) == (0, 0, paid(run)[0])


@pytest.mark.slow
def test_a_large_corpus_is_forecast_from_a_part_of_it(practice, monkeypatch) -> None:
    monkeypatch.setattr(forecasts, "_LETTERS", 40_000)
    pages = {f"p{n}.txt": sections(3 + n % 9, f"moths {n}") for n in range(60)}
    passages = {f"p{n}_0.txt": lines(6, f"moths {n} 1") for n in range(0, 60, 4)}
    benchmark = make((passages, pages, list(passages), "marcus", {}))
    said = forecast(CorpusVersion.objects.current(benchmark), "marcus", practice)
    assert said["pages"] == 60 > 2 * said["pages_read"]
    assert said["gold_pages"] == 15
    expect(said, paid(clean(benchmark, practice)))


def talkative(role: str, text: str) -> str:
    """A model that says too much where it cleans, so that it is asked twice."""
    return text if role == "splitter" else f"{text} I hope that this is what you asked me for."


@pytest.mark.slow
@pytest.mark.parametrize("change", [lambda role, text: text, talkative])
def test_earlier_calls_of_a_model_correct_its_forecast(
    settings, monkeypatch, change: Callable[[str, str], str]
) -> None:
    """An endpoint that counts two letters a token."""
    monkeypatch.setattr("llm.practice.completion.likely_tokens", lambda text: -(-len(text) // 2))
    first = make(CORPORA["many windows"])
    second = make(CORPORA["short passages"], "second")
    with cleaner(settings, change) as server:
        unknown = forecast(CorpusVersion.objects.current(second), "marcus", server.endpoint)
        clean(first, server.endpoint, options={"window": 300})
        said = forecast(CorpusVersion.objects.current(second), "marcus", server.endpoint)
        really = paid(clean(second, server.endpoint))
    assert (unknown["measured_calls"], said["measured_calls"] > 10) == (0, True)
    assert unknown["input_tokens"] < 0.6 * really[1]
    expect(said, really)


@pytest.mark.slow
def test_presets_of_one_job_share_their_work_and_no_call_is_made_twice(settings) -> None:
    benchmark = make(CORPORA["loaded pages with gold"])
    source = CorpusVersion.objects.current(benchmark)
    with cleaner(settings, lambda role, text: text) as server:
        alone = [
            forecast(source, each, server.endpoint) for each in ("marcus_c", "marcus_s", "marcus")
        ]
        said = forecast(source, "marcus_c", server.endpoint, also=["marcus_s", "marcus"])
        runs = job(benchmark, server, also=["marcus_s", "marcus"])
        bodies = server.asked
    assert [run.status for run in runs] == ["done"] * 3
    assert set(bodies.values()) == {1}
    assert said["calls"] == bodies.total() < sum(each["calls"] for each in alone)
    expect(said, paid(*runs))
    assert [run.version.recipe["preset"] for run in runs] == ["marcus_c", "marcus_s", "marcus"]


def job(benchmark: Benchmark, server: Any, **options: Any) -> list[CleaningRun]:
    """The runs of a job, driven as workers find them."""
    clean(benchmark, server.endpoint, preset="marcus_c", **options)
    while due := CleaningRun.objects.calling().first():
        assert due.claim()
        drive(due)
    return list(CleaningRun.objects.select_related("version", "account").order_by("pk"))
