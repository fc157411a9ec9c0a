"""Decisions made after signing in with somebody else's link: in no release until confirmed."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.urls import reverse

from annotate.models import Aspect, EscalationCase, Vote
from annotate.voting.cases import open_case
from corpus.judgments.services import record_judgment
from corpus.models import Judgment, Source
from evaluation.verification.folder import verify
from kit.account.links import create_link
from kit.models import ApiToken, Event, SignInLink
from tests.annotate.world import make_snapshot
from tests.evaluation.conftest import Garden, release_into
from tests.evaluation.releases.test_release_content import jsonl, qrels, rows
from tests.factories import make_member, make_user
from tests.markup import one_line

WORDS = "a-long-and-odd-phrase-77"


@pytest.fixture
def ann(garden: Garden) -> User:
    """An expert and voter with a password of her own."""
    person = User.objects.get(username="person-of-flowers-1")
    person.set_password(WORDS)
    person.save()
    return person


def came_by_link(person: User, maker: User | None) -> Client:
    browser = Client()
    browser.post(reverse("sign-in-link", args=[create_link(user=person, made_by=maker)]))
    return browser


def came_by_password(person: User) -> Client:
    browser = Client()
    browser.post(reverse("sign-in"), {"username": person.username, "password": WORDS})
    return browser


def send(browser: Client, method: str, name: str, *args: object, **body: object) -> dict:
    send = getattr(browser, method)
    response = send(reverse(name, args=args), body, content_type="application/json")
    assert response.status_code < 300, response.content
    return response.json() if response.content else {}


def decide_much(browser: Client, garden: Garden, case: EscalationCase) -> None:
    """Refuse b0, which is old gold; weigh an aspect anew; vote on a case that two voted on."""
    b0, slug = garden.passages["b0"], garden.benchmark.slug
    send(browser, "post", "api-passage-discard", slug, garden.query.pk, b0.pk, reason="noise")
    aspect = Aspect.objects.get(query=garden.query, k=2)
    now = {"content": aspect.content, "rationale": "", "weight": 5, "version": aspect.version}
    send(browser, "put", "api-aspect", slug, aspect.pk, **now)
    send(browser, "post", "api-votes", slug, case.public_id, label=1)


def disputed(garden: Garden) -> EscalationCase:
    """The pair of b3: machines say 0, two people have voted 1."""
    b3 = garden.passages["b3"]
    said = {"label": 0, "source": Source.LLM_ADJUDICATOR, "provenance": {}}
    record_judgment(query=garden.query, passage=b3, **said)
    case = open_case(
        origin="debate:1", kind="dispute", query=garden.query, passage=b3, snapshot=make_snapshot()
    )
    for name in ("v2", "v3"):
        voter = make_member(garden.benchmark, name, "annotator")
        voter.set_password(WORDS)
        voter.save()
        send(came_by_password(voter), "post", "api-votes", "garden", case.public_id, label=1)
    return case


def built(garden: Garden, folder: Path, version: str) -> tuple[dict, list, list]:
    release_into(garden.benchmark, folder, version)
    assert verify(folder).differences == []
    found = qrels(folder / "qrels/biology.expert.txt")["7"]
    aspects = (
        [row["weight"] for row in rows(folder, "aspects", "biology")]
        if (folder / "aspects/biology.parquet").exists()
        else []
    )
    votes = [row for row in jsonl(folder / "evidence/biology.jsonl") if row.get("votes")]
    return found, aspects, votes


def test_they_count_in_no_release_until_their_person_confirms(garden, ann, tmp_path) -> None:
    boss = make_member(garden.benchmark, "boss", "admin")
    case = disputed(garden)
    before, weights, _ = built(garden, tmp_path / "before", "0.1.0")
    assert (before["b0"], before["b3"], weights) == (1, 0, [3, 1])
    decide_much(came_by_link(ann, boss), garden, case)
    assert Vote.objects.filter(voter=ann).count() == 1
    label = Judgment.objects.standing().get(query=garden.query, passage=case.passage)
    assert (label.label, label.source) == (1, Source.HUMAN)

    left, weights, votes = built(garden, tmp_path / "left", "0.2.0")
    # What the people's majority took the place of stands again.
    assert (left["b0"], left["b3"], weights, votes) == (1, 0, [], [])
    card = (tmp_path / "left/README.md").read_text()
    assert "decisions were made after signing in with a link that somebody else had made" in card
    release = garden.benchmark.releases.get(version="0.2.0")
    [fault] = [each for each in release.faults if each["check"] == "unconfirmed_decisions"]
    assert {row["passage"] for row in fault["rows"]} == {"b0", "b3"}
    assert "of votes" not in card

    # Somebody else's link does not confirm what the first one began.
    other = came_by_link(ann, make_user("root"))
    link = SignInLink.objects.filter(made_by=boss).get()
    answer = {"whose": "mine"}
    other.post(reverse("account-decisions", args=[link.pk]), answer)
    assert SignInLink.objects.get(pk=link.pk).is_theirs is None

    own = came_by_password(ann)
    assert "Are these decisions yours?" in one_line(own.get(reverse("account")))
    [doubtful] = send(own, "get", "api-account-decisions")
    assert (doubtful["made_by"], doubtful["id"]) == ("boss", link.pk)
    assert {"verb": "vote", "benchmark": "garden", "times": 1} in doubtful["done"]
    own.post(reverse("account-decisions", args=[link.pk]), answer)
    after, weights, votes = built(garden, tmp_path / "after", "0.3.0")
    assert (after["b0"], after["b3"], weights) == (0, 1, [3, 5])
    assert [len(row["votes"]) for row in votes] == [3]
    assert not [
        each
        for each in garden.benchmark.releases.get(version="0.3.0").faults
        if each["check"] == "unconfirmed_decisions"
    ]


@pytest.mark.slow
def test_what_is_disowned_never_counts_and_lets_nobody_in_any_more(garden, ann, tmp_path) -> None:
    boss = make_member(garden.benchmark, "boss", "admin")
    stranger, case = came_by_link(ann, boss), disputed(garden)
    stranger.post(
        reverse("account-token"),
        {
            "token-name": "kept",
            "token-scope": "annotate",
            "token-days": "30",
        },
    )
    assert ApiToken.objects.get(user=ann).link.made_by == boss
    decide_much(stranger, garden, case)
    own, [link] = came_by_password(ann), SignInLink.objects.filter(made_by=boss)
    send(own, "post", "api-account-decisions-whose", link.pk, is_mine=False)
    refused = own.post(
        reverse("api-account-decisions-whose", args=[link.pk]),
        {"is_mine": True},
        "application/json",
    )
    assert refused.status_code == 409
    assert stranger.get(reverse("account")).status_code == 302
    assert own.get(reverse("account")).status_code == 200
    assert not ApiToken.objects.filter(user=ann)
    found, weights, _ = built(garden, tmp_path / "out", "0.1.0")
    assert (found["b0"], found["b3"], weights) == (1, 0, [])
    # Somebody who weighs the aspect anew makes it good.
    fellow = User.objects.get(username="person-of-flowers-2")
    aspect = Aspect.objects.get(query=garden.query, k=2)
    now = {"content": aspect.content, "rationale": "", "weight": 2, "version": aspect.version}
    send(came_by_link(fellow, None), "put", "api-aspect", "garden", aspect.pk, **now)
    assert built(garden, tmp_path / "good", "0.2.0")[1] == [3, 2]


def test_a_token_of_such_a_session_is_marked_as_it_is(garden, ann) -> None:
    boss, case = make_member(garden.benchmark, "boss", "admin"), disputed(garden)
    page = came_by_link(ann, boss).post(
        reverse("account-token"),
        {
            "token-name": "kept",
            "token-scope": "annotate",
            "token-days": "30",
        },
    )
    script = Client(headers={"Authorization": f"Token {page.context['token']}"})
    decide_much(script, garden, case)
    link = SignInLink.objects.get(made_by=boss)
    assert Event.objects.filter(link=link, verb__in=("vote", "save aspect")).count() == 2
    answer = script.post(
        reverse("api-account-decisions-whose", args=[link.pk]),
        {"is_mine": True},
        "application/json",
    )
    assert answer.status_code == 409
    # Nobody else's decisions are there to be confirmed.
    stranger = Client()
    stranger.force_login(boss)
    for name in ("api-account-decisions-whose", "account-decisions"):
        assert stranger.post(reverse(name, args=[link.pk]), {"is_mine": True}).status_code == 404
    assert send(stranger, "get", "api-account-decisions") == []


def test_a_newcomer_who_chooses_a_password_first_is_never_asked(garden, tmp_path) -> None:
    """Their first link is the invitation; with the password nobody else has a way in."""
    boss = make_member(garden.benchmark, "boss", "admin")
    new, case = make_member(garden.benchmark, "new", "annotator"), disputed(garden)
    browser = came_by_link(new, boss)
    browser.post(reverse("choose-password"), {"new_password1": WORDS, "new_password2": WORDS})
    decide_much(browser, garden, case)
    assert "decision" not in one_line(browser.get(reverse("home")))
    assert not Event.objects.exclude(link=None).filter(verb="vote").exists()
    assert built(garden, tmp_path / "out", "0.1.0")[0]["b3"] == 1


def test_who_skips_the_password_confirms_with_one_click_once_they_chose_it(garden) -> None:
    boss = make_member(garden.benchmark, "boss", "admin")
    new, case = make_member(garden.benchmark, "new", "annotator"), disputed(garden)
    browser = came_by_link(new, boss)
    decide_much(browser, garden, case)
    assert "made after signing in by somebody else's link" in one_line(browser.get(reverse("home")))
    assert "Choose a password, and say it then" in one_line(browser.get(reverse("account")))
    browser.post(reverse("choose-password"), {"new_password1": WORDS, "new_password2": WORDS})
    link = SignInLink.objects.get(made_by=boss)
    browser.post(reverse("account-decisions", args=[link.pk]), {"whose": "mine"})
    assert SignInLink.objects.get().is_theirs is True
    assert Event.objects.filter(verb="confirm decisions", actor=new, link=None).count() == 1


def choose(browser: Client) -> str:
    posted = {"new_password1": WORDS, "new_password2": WORDS}
    return one_line(browser.post(reverse("choose-password"), posted, follow=True))


@pytest.fixture
def taken(garden) -> tuple[User, SignInLink]:
    """Somebody who skipped the password; an admin used a link to choose one in their place."""
    new, boss = (
        make_member(garden.benchmark, "new", "annotator"),
        make_member(garden.benchmark, "boss", "admin"),
    )
    came_by_link(new, boss)
    stranger, case = came_by_link(new, boss), disputed(garden)
    assert "counts in no release until you say that it is yours" in choose(stranger)
    stranger = came_by_password(new)  # which is no means of their own either
    decide_much(stranger, garden, case)
    link = SignInLink.objects.get(chose_password=True)
    stranger.post(reverse("account-decisions", args=[link.pk]), {"whose": "mine"})
    assert "manage.py sign_in_link new" in one_line(stranger.get(reverse("account")))
    return new, link


def test_a_password_chosen_by_somebody_elses_link_is_theirs(garden, taken, tmp_path) -> None:
    person, link = taken
    assert link.is_theirs is None
    assert Event.objects.filter(link=link, verb="vote").count() == 1
    assert built(garden, tmp_path / "out", "0.1.0")[0]["b3"] == 0
    # What whoever runs the site makes is the person's own: there they confirm.
    own = came_by_link(person, None)
    own.post(reverse("account-decisions", args=[link.pk]), {"whose": "mine"})
    assert built(garden, tmp_path / "in", "0.2.0")[0]["b3"] == 1
    later = came_by_password(person)
    assert "link_by_other" not in later.session


def test_who_disowns_what_such_a_password_did_ends_it(taken) -> None:
    person, link = taken
    own = came_by_link(person, None)
    own.post(reverse("account-decisions", args=[link.pk]), {"whose": "other"})
    assert "_auth_user_id" not in came_by_password(person).session
    assert "counts in no release" not in choose(own)
    assert "link_by_other" not in came_by_password(person).session


def test_no_mail_address_is_set_by_somebody_elses_link(garden, taken, settings) -> None:
    """A link mailed there would be its owner's means of their own."""
    settings.EMAIL_URL = "smtp://mail.example"
    person, _ = taken
    browser = came_by_password(person)
    posted = {"mail-address": "boss@example.org", "mail-password": WORDS}
    refused = browser.post(reverse("account-address-ask"), posted)
    assert "would go to whoever that was" in one_line(refused)
    said = signing.dumps([person.pk, "boss@example.org"], salt="kit.signin.address")
    browser.post(reverse("account-address", args=[said]))
    assert User.objects.get(pk=person.pk).email == ""


def test_a_later_password_does_not_make_such_a_session_ones_own(garden, ann) -> None:
    browser = came_by_link(ann, make_user("root"))
    other = "another-odd-phrase-78"
    browser.post(reverse("choose-password"), {"new_password1": other, "new_password2": other})
    decide_much(browser, garden, disputed(garden))
    link = SignInLink.objects.get(made_by__username="root")
    browser.post(reverse("account-decisions", args=[link.pk]), {"whose": "mine"})
    assert SignInLink.objects.get(pk=link.pk).is_theirs is None


def test_the_record_says_by_whose_link(garden, ann) -> None:
    boss = make_member(garden.benchmark, "boss", "admin")
    decide_much(came_by_link(ann, boss), garden, disputed(garden))
    browser = Client()
    browser.force_login(boss)
    page = one_line(browser.get(reverse("record", args=["garden"])))
    assert "boss (not confirmed)" in page
    events = send(browser, "get", "api-events", "garden")["results"]
    assert {each["link_by"] for each in events if each["verb"] == "save aspect"} == {"boss"}
