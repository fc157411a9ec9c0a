"""Pages that are built to be read for hours: nobody waits for them, and they end where told."""

import threading
import zlib
from collections.abc import Iterator

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotate.workspace import collecting
from corpus.extraction import extract_text
from corpus.models import CollectedPage, PageFetch, Role
from corpus.pages import fetching
from corpus.pages import services as pages
from kit.errors import Refused
from kit.runs.models import RunStatus
from tests.annotate.workspace.test_collecting import uploaded, worked
from tests.factories import make_member
from tests.local_site import Site, serving
from tests.markup import one_line
from tests.services.processes import wait_until

pytestmark = pytest.mark.django_db


def slow_pdf(shown: int = 20_000, times: int = 200) -> bytes:
    """Some 25 kB whose reading costs minutes: every page shows the same long stream."""
    stream = zlib.compress(b"BT /F1 9 Tf 9 700 Td\n" + b"(a) Tj 0 -9 Td\n" * shown + b"ET", 9)
    kids = b" ".join(b"%d 0 R" % (5 + number) for number in range(times))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, times),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%b\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        *[
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 3 0 R "
            b"/Resources << /Font << /F1 4 0 R >> >> >>"
        ]
        * times,
    ]
    out, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = b"%d" % (len(objects) + 1)
    start = b"startxref\n%d\n%%%%EOF\n" % len(out)
    out += b"xref\n0 %b\n0000000000 65535 f \n%b" % (size, table)
    return out + b"trailer << /Size %b /Root 1 0 R >>\n" % size + start


class SlowSite(Site):
    """Its one page is read for minutes."""

    seen = []

    def page_slow(self, _: str) -> None:
        self.answer(slow_pdf(), "application/pdf")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(SlowSite) as number:
        yield number


@pytest.fixture
def expert(benchmark):
    return make_member(benchmark, "expert", Role.ANNOTATOR)


@pytest.mark.slow
def test_who_uploads_is_answered_before_anything_is_read(query, expert, settings) -> None:
    settings.ASSAY_READ_SECONDS = 1
    browser = Client()
    browser.force_login(expert)
    collect = reverse("collect", args=["demo", query.pk])
    upload = {"upload": SimpleUploadedFile("slow.pdf", slow_pdf())}
    assert browser.post(reverse("collect-file", args=["demo", query.pk]), upload).url == collect
    run = PageFetch.objects.get()
    assert (run.status, run.page) == (RunStatus.QUEUED, None)
    worked(run)
    shown = one_line(browser.get(collect))
    assert "Reading this page takes more processor time than one page may." in shown
    assert "You can paste its text instead." in shown
    assert not pages._raw_path(run.given["sha256"]).exists()


@pytest.mark.few
@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        *(
            pytest.param(name, b"<html><body>" + body, "takes more", marks=pytest.mark.slow)
            for name, body in (
                ("breaks.html", b"a<br>" * 1_000_000),
                ("opened", b"<p>" * 3_000_000),
            )
        ),
        ("blocks.txt", b"a\n\n" * 20_001, "20,000 blocks"),
        ("long.txt", b"a" * 5_000_001, "5,000,000 characters"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_costs_too_much_is_refused_by_name(query, expert, settings, name, body, words) -> None:
    settings.ASSAY_READ_SECONDS = 2
    run = uploaded(query, expert, name, body)
    assert run.status == RunStatus.FAILED
    assert words in run.error
    assert not CollectedPage.objects.exists()


def test_a_charset_of_no_page_is_not_believed() -> None:
    body = b"a" * 200_000 + b"-" + b"b" * 1_000_000
    assert extract_text(body, charset="punycode").text == body.decode()
    assert extract_text(b"Gr\\xf6e", charset="unicode_escape").text == "Gr\\xf6e"


def test_pasted_text_is_bounded_too(query, expert) -> None:
    with pytest.raises(Refused, match="20,000 blocks"):
        collecting.collect_text(query=query, text="a\n\n" * 20_001, actor=expert)


def test_one_person_cannot_fill_the_queue(query, expert, settings, tmp_path) -> None:
    settings.PAGES = tmp_path
    for number in range(10):
        collecting.collect_url(query=query, url=f"https://moths.example/{number}", actor=expert)
    with pytest.raises(Refused, match="10 pages of yours"):
        collecting.collect_url(query=query, url="https://moths.example/10", actor=expert)
    upload = SimpleUploadedFile("one.txt", b"One more.")
    with pytest.raises(Refused, match="10 pages of yours"):
        collecting.collect_file(query=query, upload=upload, actor=expert)
    assert not list(tmp_path.glob("*/*.gz"))


def reading(run: PageFetch) -> threading.Thread:
    """A worker that reads the claimed page, once it does."""

    def work() -> None:
        fetching.run_fetch(run)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    wait_until(lambda: PageFetch.objects.get(pk=run.pk).given)
    return thread


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_page_that_is_read_for_long_keeps_its_lease_and_can_be_stopped(query, expert) -> None:
    upload = SimpleUploadedFile("slow.pdf", slow_pdf())
    run = collecting.collect_file(query=query, upload=upload, actor=expert)
    assert run.claim()
    first = run.lease_until
    thread = reading(run)
    wait_until(lambda: PageFetch.objects.get(pk=run.pk).lease_until > first)
    stopped = PageFetch.objects.get(pk=run.pk)
    collecting.stop_fetch(fetch=stopped, actor=expert)
    thread.join()
    assert PageFetch.objects.get(pk=run.pk).status == RunStatus.CANCELLED
    assert not pages._raw_path(stopped.given["sha256"]).exists()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_two_pages_are_read_at_once_in_a_process(query, expert) -> None:
    runs = [
        collecting.collect_file(
            query=query, upload=SimpleUploadedFile("slow.pdf", slow_pdf(times=times)), actor=expert
        )
        for times in (200, 201, 202)
    ]

    def work(run: PageFetch) -> None:
        fetching.take_turn(run.pk)
        connection.close()

    def states() -> list[str]:
        return [PageFetch.objects.get(pk=run.pk).status for run in runs]

    threads = [threading.Thread(target=work, args=[run]) for run in runs[:2]]
    for thread in threads:
        thread.start()
    wait_until(lambda: states() == ["running", "running", "queued"], saw=states)
    work(runs[2])
    assert states() == ["running", "running", "queued"]
    for run in runs:
        collecting.stop_fetch(fetch=PageFetch.objects.get(pk=run.pk), actor=expert)
    for thread in threads:
        thread.join()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_page_whose_reading_breaks_off_is_fetched_once_and_begun_three_times(
    query, expert, settings, port
) -> None:
    settings.ASSAY_FETCH_ALSO = [f"127.0.0.1:{port}"]
    address = f"http://127.0.0.1:{port}/slow"
    begun = collecting.collect_url(query=query, url=address, actor=expert)
    threads = []
    for _ in range(3):
        run = PageFetch.objects.get(pk=begun.pk)
        assert run.claim()
        threads.append(reading(run))
        # As if its worker had died.
        PageFetch.objects.filter(pk=run.pk).update(status=RunStatus.QUEUED)
    last = worked(PageFetch.objects.get(pk=begun.pk))
    for thread in threads:
        thread.join()
    assert (last.status, last.fence) == (RunStatus.FAILED, 4)
    assert "begun 3 times" in last.error
    assert [path for path, _ in SlowSite.seen] == ["/slow"]
