"""Starts on what is not yet, or not only, the demo; what it holds is asked in test_demo.py."""

import re
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from corpus.models import Benchmark, Passage, Query
from debate.models import Debate, DebateRun
from evaluation.management.commands import load_demo as command
from evaluation.models import ChainStep
from tests.factories import make_benchmark, make_user

pytestmark = pytest.mark.django_db
PEOPLE = {
    "annotator-1": ["annotator"],
    "annotator-2": ["annotator"],
    "annotator-3": ["annotator"],
    "reviewer": ["reviewer"],
    "admin": ["admin"],
}


def load() -> str:
    out = StringIO()
    call_command("load_demo", full=True, stdout=out)
    return out.getvalue()


def links(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\S+) +http://127\.0\.0\.1:8000(/sign-in/\S+/)", text))


def counts() -> list[int]:
    return [kind.objects.count() for kind in (Benchmark, User, Query, Passage, DebateRun, Debate)]


@pytest.mark.parametrize("make", [make_benchmark, lambda: make_user("first")])
def test_assay_that_holds_something_else_is_left_alone(make) -> None:
    make()
    before = counts()
    assert load() == ""
    assert counts() == before


@pytest.mark.few
@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_KEY"])
def test_nothing_is_spent_on_a_configured_endpoint_without_being_asked(settings, name) -> None:
    setattr(settings, name, "http://models.example/v1")
    assert len(links(load())) == 5
    assert not DebateRun.objects.exclude(kind="human_only").exists()
    assert [each.do for each in ChainStep.objects.all()] == ["pool", "holes", "release"]


@pytest.mark.slow
def test_first_start_that_was_killed_halfway_is_completed_by_the_next(monkeypatch) -> None:
    def killed(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "start_run", killed)
    with pytest.raises(KeyboardInterrupt):
        load()
    assert Benchmark.objects.exists()
    assert not User.objects.exists()
    monkeypatch.undo()
    assert len(links(load())) == 5
    assert counts()[:2] == [1, len(PEOPLE) + len(command.MADE_UP)]
    assert DebateRun.objects.get(kind="debate", is_trial=False).total == 72
