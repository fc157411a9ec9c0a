"""Every list of an admin has rows in the demo, so that a newcomer sees what each page is for."""

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse

from config.celery import app
from evaluation.experiments.services import measure, table
from evaluation.models import Chain, Experiment
from kit.runs.models import RunStatus
from kit.runs.polling import due_runs, run_models
from llm.practice.server import serve
from tests.evaluation.test_load_demo import load
from tests.routes.world import patterns

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
SLUG = "garden-weather"
EMPTY = re.compile(r'<div class="empty">\s*<h2>\s*(.*?)\s*</h2>', re.DOTALL)
# Lists that are empty when the first runs are over, and why.
EMPTY_FOR_A_REASON = {
    "adjudication": "people decide otherwise first",
    "assignments": "people take queries themselves",
    "candidates": "disputes over aspects would come before people, beside eighteen others",
    "comparisons": "drawn among answers of people",
    "drafts": "what somebody typed",
    "holes-next": "all that a system found at its top is debated or labelled",
    "judge-samples": "drawn when there are people to judge",
    "licences": "it would be in every release of the demo, whose bytes are held",
    "noise-checks": "asked for on its page",
    "rescore-samples": "drawn when there are people to score",
    "reviews": "of work that somebody submitted",
    "transfers": "a file of everything is written while no chain runs",
    "webhooks": "the demo calls nobody",
}
# Runs of the experiment that differ in one thing, so in what comes of the pairs.
APART = (
    ("two agents", "temperature 1"),
    ("two agents", "a history without labels"),
    ("two agents", "four agents"),
    ("four agents", "four agents, irrelevant opens"),
)


@pytest.fixture
def worked_off(settings, monkeypatch, tmp_path) -> None:
    """The demo as it is when a worker has done all that its first start left to do."""
    settings.RELEASES = tmp_path
    with serve() as url:
        monkeypatch.setenv("ASSAY_PRACTICE_URL", url)
        settings.ASSAY_PRACTICE_URL = url
        load()
        app.autodiscover_tasks(force=True)
        while not Chain.objects.get().is_over:
            Chain.objects.update(look_at=None)
            for model, pk, *_ in due_runs():
                app.tasks[model.task_name](pk)
    left = [each for kind in run_models() for each in kind.objects.exclude(status=RunStatus.DONE)]
    assert left == []


def lists() -> Iterator[tuple[str, str]]:
    """Every page that needs no more than the benchmark, by its route."""
    for pattern in patterns(get_resolver()):
        name, arguments = pattern.name or "", set(pattern.pattern.converters)
        if name and not name.startswith("api-") and arguments <= {"slug"}:
            yield name, reverse(name, args=[SLUG] * len(arguments))


def test_no_list_of_an_admin_is_empty_and_ablations_differ(worked_off: None) -> None:
    client = Client()
    client.force_login(User.objects.get(username="admin"))
    seen, empty = 0, {}
    for name, address in lists():
        answer = client.get(address)
        if answer.status_code == 200 and "text/html" in answer["Content-Type"]:
            seen += 1
            if found := EMPTY.findall(answer.content.decode()):
                empty[name] = found
    assert seen > 60
    assert {name: why for name, why in empty.items() if name not in EMPTY_FOR_A_REASON} == {}
    assert EMPTY_FOR_A_REASON.keys() - empty.keys() == set(), "these have rows by now"
    experiment = Experiment.objects.get()
    rows = {row[0].value.partition(": ")[2].removesuffix(" (practice)"): row[1:7] for row in
            table(experiment, measure(experiment)).rows}  # fmt: skip
    for one, other in APART:
        said = [[cell.value for cell in rows[name]] for name in (one, other)]
        assert said[0] != said[1], (one, other)
    page = client.get(reverse("experiment", args=[SLUG, experiment.pk])).content.decode()
    assert all(name in page for name in rows)
