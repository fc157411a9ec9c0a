"""Guidelines: versions that stay, decisions that know theirs, pages that nothing can act on."""

import resource

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import reverse

from annotate.guidelines.rendering import as_html, rendered
from annotate.guidelines.services import publish_guideline
from annotate.models import EscalationCase, Guideline
from annotate.plans.services import save_plan
from annotate.voting.services import cast_vote
from annotate.workspace.aspects import add_aspect
from annotate.workspace.gold import assign_passage
from corpus.models import Judgment, Role
from kit.errors import Refused
from kit.models import Event
from tests.factories import make_member, make_passage, make_query

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "admin", Role.ADMIN)


@pytest.fixture
def expert(benchmark):
    return make_member(benchmark, "expert", Role.ANNOTATOR)


def publish(benchmark, admin, text, expected):
    return publish_guideline(benchmark=benchmark, text=text, actor=admin, expected=expected)


def page(person, **query):
    browser = Client()
    browser.force_login(person)
    return browser.get(reverse("guidelines", args=["demo"]), query)


def test_the_house_has_guidelines_from_the_start(benchmark, expert) -> None:
    shown = page(expert).content.decode()
    assert "Is a passage relevant?" in shown
    assert ">default<" in shown
    assert "Write a new version" not in shown


def test_a_version_stays_as_it_was(benchmark, admin, expert) -> None:
    publish(benchmark, admin, "First rules.", 0)
    publish(benchmark, admin, "Second rules.", 1)
    assert "Second rules." in page(expert).content.decode()
    old = page(expert, version=1).content.decode()
    assert "First rules." in old
    assert "version 1, not current" in old
    assert page(expert, version=7).status_code == 404
    assert Event.objects.filter(verb="publish guidelines").count() == 2


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [("  ", 1, "Write"), ("Rules.", 1, "Nothing was changed"), ("Other.", 0, "while you wrote")],
)
def test_what_is_not_published(benchmark, admin, text, expected, words) -> None:
    publish(benchmark, admin, "Rules.", 0)
    with pytest.raises(Refused, match=words):
        publish(benchmark, admin, text, expected)
    assert Guideline.objects.count() == 1


def test_a_stale_admin_keeps_what_was_typed(benchmark, admin) -> None:
    publish(benchmark, admin, "Theirs.", 0)
    browser = Client()
    browser.force_login(admin)
    sent = {"text": "My long text.", "expected": 0}
    answer = browser.post(reverse("guidelines", args=["demo"]), sent)
    assert answer.status_code == 422
    assert "My long text." in answer.content.decode()


def test_only_admins_publish(benchmark, expert) -> None:
    with pytest.raises(PermissionDenied):
        publish(benchmark, expert, "Mine.", 0)


def test_decisions_store_the_version_they_went_by(benchmark, admin, expert) -> None:
    query, passage = make_query(benchmark), make_passage(benchmark)
    case = EscalationCase.objects.create(origin="debate:1", query=query, passage=passage)
    assert cast_vote(case=case, voter=expert, label=1).guideline == 0
    publish(benchmark, admin, "Rules.", 0)
    other = make_member(benchmark, "other", Role.ANNOTATOR)
    assert cast_vote(case=case, voter=other, label=1).guideline == 1
    aspect = add_aspect(query=query, actor=expert, content="One.")
    assign_passage(query=query, passage=passage, aspect=aspect, actor=expert)
    assert Judgment.objects.get(source="expert").provenance["guideline_version"] == 1


def test_what_an_admin_pasted_cannot_act() -> None:
    shown = rendered(
        '# Rules\n<script>x()</script><a href="javascript:y()">a</a><b onclick="z()">b'
    )
    assert "<h1>Rules</h1>" in shown
    for word in ("script", "onclick"):
        assert word not in shown


@pytest.mark.slow
def test_what_takes_too_long_to_show_is_not_published(benchmark, admin) -> None:
    with pytest.raises(Refused, match="takes too long"):
        publish(benchmark, admin, "<div>" * 200_000, 0)
    assert Guideline.objects.current(benchmark).version == 0


@pytest.mark.slow
def test_terms_that_take_too_long_to_show_are_not_saved(benchmark, admin) -> None:
    with pytest.raises(Refused, match="takes too long"):
        save_plan(benchmark=benchmark, actor=admin, expected=0, consent_text="<div>" * 200_000)


@pytest.mark.slow
def test_what_was_saved_before_is_shown_as_it_was_typed(benchmark, expert) -> None:
    text = "<div>" * 200_000
    Guideline.objects.create(benchmark=benchmark, version=1, text=text)
    assert "<pre>&lt;div&gt;" in page(expert).content.decode()


@pytest.mark.slow
def test_a_long_text_is_made_once(benchmark, admin, expert) -> None:
    publish(benchmark, admin, "# Rules\n\n" + "Say [why](/a).\n\n" * 5_000, 0)
    made = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    for _ in range(2):
        assert '<a href="/a"' in page(expert).content.decode()
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt == made


@pytest.mark.parametrize(
    ("address", "is_kept"),
    [("/static/a.png", True), ("http://evil.test/a", False), ("//evil.test", False)],
)
def test_only_pictures_of_this_site_keep_their_address(address: str, is_kept: bool) -> None:
    assert ("src=" in as_html(f"![a]({address})".encode())) == is_kept
    assert "src=" not in as_html(b'<img src="/\tevil.test"><img src="/\\evil.test">')
