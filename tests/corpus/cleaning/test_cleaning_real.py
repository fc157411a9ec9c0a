"""Cleaning real pages of ../shared/data: through the practice model and a careless one."""

import pytest

from corpus.cleaning.report import report
from corpus.marcus.verify import verify
from corpus.models import CorpusVersion, Document, PageState, Passage, Violation
from corpus.versions.effective import effective_labels
from llm import endpoints
from tests.corpus.cleaning.rooms import clean
from tests.corpus.real_texts import noisy_texts, web_pages
from tests.corpus.scripted import cleaner
from tests.factories import make_benchmark, make_gold, make_passage, make_query

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def load_web_pages(count: int):
    """Raw HTML as pages; a sentence from the middle of each third one is gold."""
    benchmark = make_benchmark()
    version, domain = CorpusVersion.objects.current(benchmark), benchmark.domains.get()
    query = make_query(benchmark)
    for number, html in enumerate(sorted(web_pages(), key=len)[:count]):
        page = Document.objects.create(
            version=version, domain=domain, doc_id=f"page{number}.html", text=html
        )
        middle = html.find("<p>", len(html) // 2)
        said = html[middle + 3 : html.find("</p>", middle)] if middle > 0 else ""
        if number % 3 == 0 and 80 < len(said) < 3000 and "<" not in said:
            gold = make_passage(benchmark, f"page{number}_0.html", text=said, document=page)
            make_gold(query, gold)
    return benchmark


def test_raw_pages_of_the_web_with_gold_in_them() -> None:
    benchmark = load_web_pages(12)
    with endpoints.practice_if_unconfigured() as endpoint:
        run = clean(benchmark, endpoint)
    assert (run.status, run.error) == ("done", "")
    assert run.pages.filter(state=PageState.DONE).count() == 12
    gold = Passage.objects.filter(version=run.source)
    assert gold.exists()
    carried = effective_labels(run.version)
    assert not carried.lost
    assert len(carried.labels) >= gold.count()
    for old in gold:
        after = "\n".join(
            text or ""
            for text in Passage.objects.filter(version=run.version, came_from__old=old).values_list(
                "text", flat=True
            )
        )
        assert not verify(old.text, after).violations or old.text.strip() in after
    assert {each.name for each in report(run).sheets} >= {"retention", "lengths", "violations"}


def test_crawled_passages_of_bright_lose_no_gold_to_a_careless_model(settings) -> None:
    benchmark = make_benchmark()
    query = make_query(benchmark)
    for number, said in enumerate(noisy_texts()[:60]):
        passage = make_passage(benchmark, f"noisy/p{number}_0.txt", text=said)
        if number % 2:
            make_gold(query, passage)

    def careless(role: str, text: str) -> str:
        return text.replace(" the ", " a ", 1).replace(" not ", " ", 1)

    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint)
    assert (run.status, run.error) == ("done", "")
    assert not effective_labels(run.version).lost
    found = Violation.objects.filter(page__run=run, is_violation=True)
    assert found.count() > 20
    assert not found.filter(decision="").exists()
    for old in Passage.objects.filter(version=run.source, judgments__isnull=False):
        parts = Passage.objects.filter(version=run.version, came_from__old=old).order_by("pk")
        after = "\n\n".join(text or "" for text in parts.values_list("text", flat=True))
        assert not verify(old.text, after, with_tables=True).violations
