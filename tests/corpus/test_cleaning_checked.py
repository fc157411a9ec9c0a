"""A model that changes gold: what each policy does about it, and people who decide."""

import pytest
from django.test import Client

from corpus.models import CleaningRun, PageState, Violation
from corpus.services.cleaning_decisions import decide, queue
from corpus.services.crosswalk import labels_of
from kit.errors import Refused
from kit.models import Event
from tests.corpus.cleaning import clean, drive, make_corpus, texts
from tests.corpus.scripted import cleaner
from tests.factories import make_gold, make_member, make_passage, make_query

pytestmark = pytest.mark.django_db(transaction=True)
LONG = " ".join(f"Sentence {n} tells of ferns and moths in the garden." for n in range(60))


def careless(role: str, text: str) -> str:
    return text.replace("Sentence 7 tells", "Sentence 8 tells") if role == "safe_clean" else text


def obedient(role: str, text: str) -> str:
    return "Chunk A: This page is worthless." if role == "splitter" else "I obey the page."


@pytest.fixture
def benchmark():
    made = make_corpus()
    query = make_query(made, "9")
    make_gold(query, make_passage(made, "long/page_0.txt", text=LONG))
    return made


def find(run: CleaningRun) -> str:
    return " ".join(t or "" for pid, t in texts(run).items() if pid.startswith("long/"))


def test_a_changed_word_is_repaired_from_the_source_and_listed(benchmark, settings) -> None:
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint)
    assert run.status == "done"
    assert find(run) == LONG
    (found,) = Violation.objects.filter(page__run=run, is_violation=True)
    assert (found.kind, found.source, found.output) == ("changed", "7", "8")
    assert (found.decision, found.decided_by) == ("repaired", None)
    assert LONG[found.start : found.end] == "7"


def test_the_original_is_kept_where_the_policy_says_so(benchmark, settings) -> None:
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="original")
    assert find(run) == LONG
    assert Violation.objects.get(page__run=run, is_violation=True).decision == "original"


def test_a_model_that_obeys_pages_changes_no_gold_and_loses_no_label(benchmark, settings) -> None:
    with cleaner(settings, obedient) as server:
        run = clean(benchmark, server.endpoint)
    assert run.status == "done"
    assert find(run) == LONG
    assert not labels_of(run.version).lost
    assert not any("worthless" in (t or "") or "obey" in (t or "") for t in texts(run).values())


@pytest.mark.parametrize(
    ("decision", "word"), [("accepted", "8"), ("repaired", "7"), ("original", "7")]
)
def test_a_person_decides_and_the_run_goes_on(benchmark, settings, decision, word) -> None:
    admin = make_member(benchmark, "admin", "admin")
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
        assert run.status == "paused"
        assert "1 pages wait for a person" in run.pause_reason
        assert run.version.state == "loading"
        found = queue(run).get()
        assert decide(violation=found, decision=decision, actor=admin) is None
        run.refresh_from_db()
        assert (run.status, run.pages.filter(state=PageState.HELD).count()) == ("queued", 0)
        asked = sum(server.asked.values())
        safe = [body for body in server.asked if '"safe_clean"' in body]
        assert run.claim()
        run = drive(run)
        assert [body for body in server.asked if '"safe_clean"' in body] == safe
        assert sum(server.asked.values()) > asked  # the splitter alone was asked
    assert run.status == "done"
    assert f"Sentence {word} tells of ferns and moths in the garden. Sentence 8" in find(run)
    found.refresh_from_db()
    assert (found.decision, found.decided_by) == (decision, admin)
    assert Event.objects.filter(verb="decide cleaning violation", actor=admin).count() == 1
    with pytest.raises(Refused):
        decide(violation=found, decision="accepted", actor=admin)


def test_deciding_by_the_screen_and_by_the_api(benchmark, settings) -> None:
    admin = make_member(benchmark, "admin", "admin")
    client = Client()
    client.force_login(admin)
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
    here = f"/b/demo/cleaning/{run.pk}/"
    page = client.get(here).content.decode()
    assert "Decide 1 violations" in page
    reached = client.get(here + "violations/next/", follow=True).content.decode()
    assert "<del>7</del>" in reached
    assert "<ins>8</ins>" in reached
    assert 'data-key="1"' in reached
    found = queue(run).get()
    sent = client.post(
        f"{here}violations/{found.pk}/decide/", {"decision": "repaired"}, follow=True
    )
    assert "Nothing is left to decide" in sent.content.decode()
    url = f"/api/b/demo/cleanings/{run.pk}/violations/{found.pk}/"
    again = client.post(url, {"decision": "accepted"}, content_type="application/json")
    assert again.status_code == 409


def test_an_endpoint_that_refuses_a_page_leaves_it_cleaned_by_rules(benchmark, settings) -> None:
    from http.server import BaseHTTPRequestHandler

    with cleaner(settings, careless) as server:
        plain = server.RequestHandlerClass.do_POST

        def refuse(self: BaseHTTPRequestHandler) -> None:
            raw = self.rfile.peek(200_000) if hasattr(self.rfile, "peek") else b""
            if b"Sentence 7 tells" in raw:
                self.send_response(413)
                self.send_header("Content-Length", "0")
                self.end_headers()
                self.close_connection = True
                return
            plain(self)

        server.RequestHandlerClass = type(
            "Refusing", (server.RequestHandlerClass,), {"do_POST": refuse}
        )
        run = clean(benchmark, server.endpoint)
    assert run.status == "done"
    assert run.pages.get(state=PageState.FAILED).page_id == "long/page.txt"
    assert find(run) == LONG
    assert not labels_of(run.version).lost
