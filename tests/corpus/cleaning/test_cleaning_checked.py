"""A model that changes gold: what each policy does about it, and people who decide."""

from collections.abc import Sequence

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from annotate.models import Aspect
from corpus.cleaning.decisions import decide, queue, undo
from corpus.cleaning.pages import CleaningPump, Job
from corpus.models import CleanedPage, CleaningRun, PageState, Violation
from corpus.versions.effective import effective_labels
from kit.errors import Refused
from kit.models import Event
from tests.corpus.cleaning.rooms import clean, drive, make_corpus, texts
from tests.corpus.scripted import cleaner
from tests.factories import make_gold, make_member, make_passage, make_query
from tests.markup import one_line
from tests.services.processes import wait_until

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


def find(run: CleaningRun, folder: str = "long/") -> str:
    return " ".join(t or "" for pid, t in texts(run).items() if pid.startswith(folder))


def test_a_changed_word_is_repaired_from_the_source_and_listed(benchmark, settings) -> None:
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint)
    assert run.status == "done"
    assert find(run) == LONG
    (found,) = Violation.objects.filter(page__run=run, is_violation=True)
    assert (found.kind, found.source, found.output) == ("changed", "7", "8")
    assert (found.decision, found.decided_by) == ("repaired", None)
    assert LONG[found.start : found.end] == "7"


@pytest.mark.slow
def test_lines_that_recur_on_pages_of_a_site_are_menus(benchmark, settings) -> None:
    block = ["The Valley", "Sheep and dogs", "Two lakes"]
    pages = ["\n".join([*block, f"Of {name}. {LONG}"]) for name in ("moths", "ferns", "owls")]
    gold = make_passage(benchmark, "1", text=pages[0], source_url="https://valley.org/1")
    make_gold(make_query(benchmark, "8"), gold)
    for n, (site, text) in enumerate((("valley", pages[1]), ("VALLEY", pages[2]), ("hill", ""))):
        text = text or pages[0].replace("moths", "lamps")
        make_passage(benchmark, f"2{n}", text=text, source_url=f"https://{site}.org/{n}")

    def article(role: str, text: str) -> str:
        return text[text.index("Of ") :] if role == "safe_clean" and "Of " in text else text

    with cleaner(settings, article) as server:
        run = clean(benchmark, server.endpoint)
    (found,) = Violation.objects.filter(page__run=run)
    assert (found.kind, found.source, found.decision) == ("menu", "\n".join(block), "")
    assert find(run, "1#") == pages[0].partition("Two lakes\n")[2]


@pytest.mark.slow
def test_a_menu_with_words_of_an_aspect_stays_in_gold(benchmark, settings) -> None:
    """What an expert took back asks for nothing."""
    bridge, park, query = "Mayor Opens New Bridge", "Dogs in the Park", make_query(benchmark, "8")
    Aspect.objects.create(query=query, k=1, content="How a bridge swings in the wind")
    Aspect.objects.create(query=query, k=2, content="Dogs", removed_at=timezone.now())
    text = "\n".join([LONG, "Related", bridge, park, "Privacy policy", "© 2019 The Valley News"])
    make_gold(query, make_passage(benchmark, "menus/page_0.txt", text=text))

    def article(role: str, text: str) -> str:
        return text.partition("\nRelated")[0] if role == "safe_clean" else text

    with cleaner(settings, article) as server:
        found = find(clean(benchmark, server.endpoint), "menus/")
        assert (bridge in found, park in found) == (True, False)
        # Without that aspect the page is another one, and no answer of the first run holds for it.
        Aspect.objects.filter(k=1).update(removed_at=timezone.now())
        found = find(clean(benchmark, server.endpoint, name="again"), "menus/")
        assert (bridge in found, park in found) == (False, False)


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
    assert not effective_labels(run.version).lost
    assert not any("worthless" in (t or "") or "obey" in (t or "") for t in texts(run).values())


@pytest.mark.parametrize(
    ("decision", "word"),
    [
        ("accepted", "8"),
        *(pytest.param(each, "7", marks=pytest.mark.slow) for each in ("repaired", "original")),
    ],
)
def test_a_person_decides_and_the_run_goes_on(benchmark, settings, decision, word) -> None:
    admin = make_member(benchmark, "admin", "admin")
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
        assert run.status == "paused"
        assert "1 page waits for a person" in run.pause_reason
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


@pytest.mark.slow
def test_a_decision_about_other_words_at_its_place_is_asked_for_again(benchmark, settings) -> None:
    """As after an upgrade that counts the pieces of a text otherwise."""
    admin = make_member(benchmark, "admin", "admin")
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
        found = queue(run).get()
        decide(violation=found, decision="accepted", actor=admin)
        Violation.objects.filter(pk=found.pk).update(source="9")
        run.refresh_from_db()
        assert run.claim()
        run = drive(run)
        assert run.status == "paused"
        again = queue(run).get()
        assert (again.source, again.output, again.decision) == ("7", "8", "")
        told = Event.objects.get(verb="drop cleaning decision", scope=benchmark.slug)
        assert told.data == {"decision": "accepted", "place": str(found.pk)}
        decide(violation=again, decision="repaired", actor=admin)
        run.refresh_from_db()
        assert run.claim()
        assert drive(run).status == "done"
    assert find(run) == LONG


@pytest.mark.slow
def test_deciding_by_the_screen_and_by_the_api(benchmark, settings) -> None:
    admin = make_member(benchmark, "admin", "admin")
    client = Client()
    client.force_login(admin)
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
    here = f"/b/demo/cleaning/{run.pk}/"
    page = one_line(client.get(here))
    assert "Decide 1 violations" in page
    reached = one_line(client.get(here + "violations/next/", follow=True))
    assert "<del>7</del>" in reached
    assert "<ins>8</ins>" in reached
    assert 'data-key="1"' in reached
    found = queue(run).get()
    sent = client.post(
        f"{here}violations/{found.pk}/decide/", {"decision": "repaired"}, follow=True
    )
    assert "Nothing is left to decide" in one_line(sent)
    url = f"/api/b/demo/cleanings/{run.pk}/violations/{found.pk}/"
    again = client.post(url, {"decision": "accepted"}, content_type="application/json")
    assert again.status_code == 409


def add_pages(benchmark, count: int) -> None:
    query = make_query(benchmark, "10")
    for number in range(count):
        make_gold(query, make_passage(benchmark, f"long{number}/page_0.txt", text=LONG))


def test_a_decision_is_taken_back_until_the_page_is_cleaned_with_it(benchmark, settings) -> None:
    admin, other = (make_member(benchmark, name, "admin") for name in ("admin", "other"))
    add_pages(benchmark, 1)
    client = Client()
    client.force_login(admin)
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
        first, second = queue(run)
        here = f"/b/demo/cleaning/{run.pk}/violations/"
        assert decide(violation=first, decision="accepted", actor=admin) == second
        page = one_line(client.get(f"{here}{second.pk}/"))
        taken = escape(f"“{Violation.Decision.ACCEPTED.label}” in {first.page.page_id}")
        assert f'data-confirm="Undo {taken}? You leave this violation for that one."' in page
        assert f'data-key-label="Undo {taken}"' in page
        own = one_line(client.get(f"{here}{first.pk}/"))
        assert f'data-key-label="Undo {taken}"' in own
        assert "data-confirm" not in own
        for person, words in ((other, "Somebody else"), (admin, "Nobody has")):
            with pytest.raises(Refused, match=words):
                undo(violation=first if person == other else second, actor=person)
        client.post(f"{here}{first.pk}/undo/")
        assert list(queue(run)) == [first, second]
        assert first.page.state == PageState.HELD
        assert "taken back" in one_line(client.get(f"{here}{first.pk}/"))
        # The last decision sends the run on; taken back, the run waits once more.
        decide(violation=first, decision="accepted", actor=admin)
        assert decide(violation=second, decision="accepted", actor=admin) is None
        undo(violation=second, actor=admin)
        run.refresh_from_db()
        assert run.claim()
        run = drive(run)
        assert (run.status, list(queue(run))) == ("paused", [second])
        with pytest.raises(Refused, match="cleaned with this decision already"):
            undo(violation=first, actor=admin)
        decide(violation=second, decision="repaired", actor=admin)
        run.refresh_from_db()
        assert run.claim()
        run = drive(run)
    assert run.status == "done"
    assert "Sentence 7 tells" not in find(run)
    assert "Sentence 7 tells" in find(run, "long0/")
    undone = Event.objects.filter(verb="undo cleaning decision", actor=admin)
    assert [each.data["decision"] for each in undone] == ["accepted", "accepted"]
    again = client.post(f"/api/b/demo/cleanings/{run.pk}/violations/{second.pk}/undo/")
    assert again.status_code == 409


NOTICE = "This report was written by a reader of ours who wants to be told of every moth that is"
NOTICE += " seen in a garden of the valley between the first frost and the last day of May."


@pytest.mark.slow
def test_the_same_words_are_asked_about_once_and_few_words_never(benchmark, settings) -> None:
    admin = make_member(benchmark, "admin", "admin")
    query = make_query(benchmark, "10")
    for name in "abc":
        text = f"{LONG}\nOf {name}.\n{LONG}\n{NOTICE}\n{LONG}"
        make_gold(query, make_passage(benchmark, f"{name}/page_0.txt", text=text))

    def article(role: str, text: str) -> str:
        if role == "safe_clean":
            text = text.replace(f"{NOTICE}\n", "").replace("Of a.\n", "")
        return text

    with cleaner(settings, article) as server:
        run = clean(benchmark, server.endpoint, policy="person")
        small = Violation.objects.get(page__run=run, source="Of a.")
        assert (small.decision, small.decided_by) == ("repaired", None)
        first, second, third = queue(run)
        [words] = {each.source for each in (first, second, third)}
        assert NOTICE[:-1] in words
        decide(violation=first, decision="accepted", actor=admin)
        assert not queue(run).exists()
        undo(violation=second, actor=admin)
        assert list(queue(run)) == [first, second, third]
        # One that no worker had got to, when the others were decided.
        third.page.violations.all().delete()
        CleanedPage.objects.filter(pk=third.page_id).update(state=PageState.WAITING)
        decide(violation=second, decision="accepted", actor=admin)
        run.refresh_from_db()
        assert run.claim()
        run = drive(run)
    assert run.status == "done"
    assert NOTICE[:-1] not in find(run, "")
    assert "Of a." in find(run, "a/")
    late = Violation.objects.get(page=third.page, source=words)
    assert (late.decision, late.decided_by) == ("accepted", admin)
    told = Event.objects.get(verb="settle as decided before")
    assert (told.target_id, told.actor) == (str(third.page_id), None)
    assert set(told.data["as"].values()) == {"accepted"}


@pytest.mark.slow
def test_what_is_skipped_comes_again_behind_the_others(benchmark, settings) -> None:
    admin = make_member(benchmark, "admin", "admin")
    add_pages(benchmark, 2)
    client = Client()
    client.force_login(admin)
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
    first, second, third = queue(run)
    here = f"/b/demo/cleaning/{run.pk}/violations/"
    for now, behind in ((first, second), (second, third), (third, first)):
        page = one_line(client.get(f"{here}{now.pk}/"))
        assert f'data-key="s" href="{here}{behind.pk}/"' in page
    sent = client.get(f"{here}next/", {"after": second.pk})
    assert sent.url == f"{here}{third.pk}/"
    assert decide(violation=second, decision="repaired", actor=admin) == third
    assert decide(violation=third, decision="repaired", actor=admin) == first


def test_two_people_at_one_violation_and_nothing_is_decided_twice(benchmark, settings) -> None:
    admin, other = (make_member(benchmark, name, "admin") for name in ("admin", "other"))
    add_pages(benchmark, 1)
    client = Client()
    client.force_login(other)
    with cleaner(settings, careless) as server:
        run = clean(benchmark, server.endpoint, policy="person")
    first, second = queue(run)
    here = f"/b/demo/cleaning/{run.pk}/violations/"
    decide(violation=first, decision="accepted", actor=admin)
    late = client.post(f"{here}{first.pk}/decide/", {"decision": "original"}, follow=True)
    page = one_line(late)
    assert "This was decided already." in page
    assert f'data-key="s" href="{here}{second.pk}/"' in page  # one key on
    first.refresh_from_db()
    assert (first.decision, first.decided_by) == ("accepted", admin)
    assert Event.objects.filter(verb="decide cleaning violation").count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("takes_back", [False, True])
def test_a_page_that_is_decided_while_its_group_is_under_way(
    benchmark, settings, monkeypatch, takes_back
) -> None:
    """It is behind the worker then, or in its hands with what was decided before."""

    def slow(role: str, text: str) -> str:
        if "the last one" in text:
            # Its group is under way while the others are decided about.
            wait_until(lambda: decided, saw=lambda: queue(CleaningRun.objects.get()).count())
        return careless(role, text)

    admin = make_member(benchmark, "admin", "admin")
    add_pages(benchmark, 2)
    late = make_passage(benchmark, "slow/page_0.txt", text=f"{LONG} It is the last one.")
    make_gold(make_query(benchmark, "11"), late)
    decided: list[int] = []
    plain = CleaningPump.store

    def store(pump: CleaningPump, results: Sequence[Job]) -> int:
        if takes_back and decided:
            for found in Violation.objects.filter(decision="accepted", decided_by=admin):
                undo(violation=found, actor=admin)
                decide(violation=found, decision="repaired", actor=admin)
        ended = plain(pump, results)
        found = queue(pump.run).first()
        if found is not None and not decided:
            decided.append(found.pk)
            decide(violation=found, decision="accepted", actor=admin)
        return ended

    monkeypatch.setattr(CleaningPump, "store", store)
    with cleaner(settings, slow) as server:
        run = clean(benchmark, server.endpoint, policy="person")
    first = Violation.objects.get(pk=decided[0])
    assert first.decision == ("repaired" if takes_back else "accepted")
    assert first.page.state == PageState.DONE
    assert (run.status, queue(run).count()) == ("paused", 3)
    said = first.page.result["chunks"][0]["text"]
    assert ("Sentence 7 tells" in said) is takes_back


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
    assert not effective_labels(run.version).lost
