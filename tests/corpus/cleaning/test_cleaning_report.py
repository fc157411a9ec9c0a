"""The report of a cleaning: bins of a chosen width, and the rows behind every number."""

import re

import pytest
from django.core.cache import cache
from django.test import Client

from corpus.cleaning.report import Widths, report
from corpus.marcus.figures import bin_of, edges_of, histogram
from corpus.models import CleaningRun, Domain, Judgment, Passage
from llm import endpoints
from llm.models import Call
from tests.corpus.cleaning.rooms import clean, make_corpus
from tests.factories import make_gold, make_member, make_passage, make_query
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
SUBJECTS = "Moths fly at night around lamps. " * 12 + "Ferns spread spores in the wind. " * 12


@pytest.fixture
def run() -> CleaningRun:
    cache.clear()
    with endpoints.practice_if_unconfigured() as endpoint:
        return clean(make_corpus(), endpoint)


def test_bins_of_a_chosen_width_take_everything() -> None:
    assert edges_of(100, top=400) == (0, 100, 200, 300, 400)
    assert edges_of(0.3, top=1) == (0, 0.3, 0.6, 0.9, 1.2)
    edges = edges_of(100, top=400)
    values = [-1, 0, 99, 100, 399, 400, 9000]
    assert [b.count for b in histogram(values, edges, is_open=True)] == [3, 1, 0, 1, 2]
    assert [bin_of(v, edges, is_open=False) for v in values] == [0, 0, 0, 1, 3, 3, 3]


@pytest.mark.slow
def test_every_number_of_the_report_leads_to_as_many_rows(run: CleaningRun) -> None:
    client = Client()
    client.force_login(make_member(run.benchmark, "admin", "admin"))
    tried = 0
    for sheet in report(run, Widths(10, 0.25)).sheets:
        for row in sheet.rows:
            for cell in row:
                if cell.kind == "text" or not cell.url:
                    continue
                page = client.get(cell.url)
                assert page.status_code == 200, cell.url
                # The list of the page is its last table.
                rows = re.findall("<tr><td", one_line(page).rpartition("<tbody>")[2])
                if sheet.name == "notes" and not row[0].value.startswith("pages: "):
                    assert 0 < len(rows) <= cell.value, cell.url  # pages where such came up
                else:
                    assert len(rows) == cell.value, cell.url
                tried += 1
    assert tried > 10


def test_a_label_that_is_given_or_taken_back_is_in_the_report_at_once(run: CleaningRun) -> None:
    """What texts alone say is kept for a day, what labels say is not."""

    def told() -> tuple[str, int, int]:
        found = report(run)
        lost, cosines = found.sheet("not-carried"), found.similarities
        return lost.notes[0], len(lost.rows), sum(each.count for each in cosines[1])

    assert told() == ("6 labels hold in the new version.", 0, 3)
    query = make_query(run.benchmark, "late")
    menu = Passage.objects.get(version=run.source, pid="menu/page_0.txt")
    judge = {"query": query, "source": "expert", "status": "standing"}
    lost = Judgment.objects.create(passage=menu, label=1, **judge)
    ferns = Passage.objects.get(version=run.source, pid="garden/ferns_0.txt")
    Judgment.objects.create(passage=ferns, label=1, **judge)
    assert told() == ("7 labels hold in the new version.", 1, 4)
    Judgment.objects.filter(pk=lost.pk).update(status="superseded")
    assert told() == ("7 labels hold in the new version.", 0, 4)


def test_retention_is_counted_by_domain(run: CleaningRun) -> None:
    Domain.objects.create(benchmark=run.benchmark, name="earth", is_ready=True)
    make_passage(run.benchmark, "x/p_0.txt", domain="earth")
    rows = report(run).sheet("retention").rows
    assert [[cell.value for cell in row] for row in rows] == [
        ["biology", 6, 7, 116.67],
        ["earth", 1, 0, 0.0],
        ["All", 7, 7, 100.0],
    ]


def test_the_api_gives_the_rows_and_refuses_what_is_no_number(run: CleaningRun) -> None:
    client = Client()
    client.force_login(make_member(run.benchmark, "admin", "admin"))
    here = f"/api/b/demo/cleanings/{run.pk}/report/"
    (sheet,) = client.get(f"{here}rows/?of=agents&role=safe_clean").json()
    assert sheet["rows"][0][0]["value"] == "garden/ferns.txt"
    assert client.get(f"{here}rows/?of=lengths&side=sideways&bin=1").status_code == 404
    lengths = client.get(f"{here}?tokens=500").json()[1]
    assert lengths["rows"][0][0]["value"] == "0 to 500"


@pytest.mark.slow
def test_semantic_chunks_pay_for_a_text_once_and_again_only_where_it_changed() -> None:
    benchmark = make_corpus()
    long = make_passage(benchmark, "long/p_0.txt", text=SUBJECTS)
    make_gold(make_query(benchmark, "9"), long)
    options = {"long_from": 50, "embedder": "model"}
    first = clean(benchmark, preset="dchunk", options=options)
    assert (first.status, first.error) == ("done", "")
    assert first.account is not None
    calls = Call.objects.filter(role="embedding", account=first.account)
    assert calls.answered().count() == 1
    made = Passage.objects.filter(version=first.version, pid__startswith="long/p_0.txt#c")
    assert made.count() > 1
    again = clean(benchmark, preset="dchunk", options=options, name="again")
    assert again.figures == first.figures
    assert Call.objects.filter(role="embedding").count() == 1
    Passage.objects.filter(pk=long.pk).update(text=SUBJECTS + "One more sentence.")
    clean(benchmark, preset="dchunk", options=options, name="changed")
    assert Call.objects.filter(role="embedding").count() == 2


def test_an_endpoint_that_is_away_pauses_semantic_chunks_with_words(settings) -> None:
    benchmark = make_corpus()
    make_passage(benchmark, "long/p_0.txt", text=SUBJECTS)
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://127.0.0.1:9/v1", "sk-test"
    endpoint = endpoints.available()[0]
    run = clean(benchmark, endpoint, preset="dchunk", options={"long_from": 50})
    assert run.status in ("paused", "failed")
    assert run.error
    assert run.version.state == "loading"
