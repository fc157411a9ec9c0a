"""A chain that waits for two kinds of people, one after the other: who write and who review."""

import json
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotate.assignments.services import submit_query, take_back
from annotate.models import ActiveSpan, Review, VotingPlan
from annotate.review.services import accept_review, score_weights, start_review
from evaluation.chain.models import Chain, ChainStep
from evaluation.models import Release
from evaluation.verification.folder import verify
from tests.annotate.reviewing import Desk, look_at_all, make_desk
from tests.factories import make_benchmark, make_query

pytestmark = pytest.mark.django_db

PLAN = """
[[step]]
do = "systems"
systems = [{ method = "bm25" }]
[[step]]
do = "aspects"
[[step]]
do = "review"
[[step]]
do = "release"
version = "0.1.0"
"""


@pytest.fixture
def desk(settings: Any, tmp_path: Path) -> Desk:
    for name in ("INDEXES", "RELEASES"):
        setattr(settings, name, tmp_path / name.lower())
    return make_desk()


def run(*args: str) -> dict[str, Any]:
    out = StringIO()
    call_command("chain", "garden", *args, "--json", stdout=out)
    told: dict[str, Any] = json.loads(out.getvalue())
    return told


def test_a_chain_waits_for_experts_then_for_reviewers_and_releases(desk, tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    told = run(str(plan))
    assert told["waits_for"] == "experts: 0 of 1 queries are submitted, 100% are wanted"
    submit_query(query=desk.query, actor=desk.author)
    take_back(query=desk.query, actor=desk.author)
    assert run("--resume")["waits_for"] == told["waits_for"]

    submit_query(query=desk.query, actor=desk.author)
    told = run("--resume")
    assert told["waits_for"] == "experts: 0 of 1 queries are accepted, 100% are wanted"
    review = start_review(query=desk.query, reviewer=desk.reviewer)
    score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    look_at_all(review)
    assert run("--resume")["waits_for"] == told["waits_for"]  # looked at, and not accepted
    assert not Release.objects.exists()
    accept_review(review=Review.objects.get(), actor=desk.reviewer)

    told = run("--resume")
    assert (told["status"], told["waits_for"]) == ("done", "")
    aspects, review_step = Chain.objects.get().steps.filter(do__in=("aspects", "review"))
    assert aspects.output_sha256 != review_step.output_sha256  # blind scores and verdicts are new
    folder = Path(Release.objects.get().folder)
    assert verify(folder).differences == []
    assert (folder / "evidence/reviews/biology.jsonl").exists()
    steps = json.loads((folder / "prov.json").read_text())["activity"]
    assert [steps[f"assay:step-{n}"]["prov:label"] for n in (1, 2, 3, 4)] == [
        *("systems", "aspects", "review", "release")
    ]
    assert (
        steps["assay:step-4"]["assay:input_sha256"] == Chain.objects.get().steps.last().input_sha256
    )
    told = (folder / "prov.json").read_text()
    (folder / "prov.json").write_text(told.replace('"0.1.0"', '"0.2.0"'))
    differs = verify(folder, checksums=False).differences
    assert [each.file for each in differs] == ["prov.json, step-4"]


def test_what_experts_cost_is_their_time_while_the_chain_waited(desk, tmp_path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[step]]\ndo = "aspects"\n[[step]]\ndo = "review"\n')
    VotingPlan.objects.create(
        benchmark=desk.benchmark, version=1, hourly_pay="36", currency="USD", consent_text="Yes."
    )
    run(str(plan))

    def at_work(person: Any, query: Any, start: float, end: float) -> None:
        begun = ChainStep.objects.filter(started_at__isnull=False).last().started_at
        ActiveSpan.objects.create(
            user=person, query=query,
            start=begun + timedelta(seconds=start), end=begun + timedelta(seconds=end),
        )  # fmt: skip

    # The chain waits since an hour ago.
    ago = timezone.now() - timedelta(hours=1)
    ChainStep.objects.filter(number=1).update(started_at=ago)
    at_work(desk.author, desk.query, -100, 200)  # 200 s of it in the step
    other = make_query(make_benchmark("other", domains=("biology",)), "8", "biology")
    at_work(desk.author, other, 300, 900)  # of another benchmark
    submit_query(query=desk.query, actor=desk.author)
    run("--resume")
    ended = ChainStep.objects.get(number=1).ended_at
    later = ended - timedelta(minutes=20)
    ChainStep.objects.filter(number=1).update(ended_at=later)
    ChainStep.objects.filter(number=2).update(started_at=later)
    at_work(desk.reviewer, desk.query, 0, 300)
    at_work(desk.author, desk.query, 100, 150)  # what reviewers had them change
    review = start_review(query=desk.query, reviewer=desk.reviewer)
    score_weights(review=review, actor=desk.reviewer, weights=desk.weights)
    look_at_all(review)
    accept_review(review=Review.objects.get(), actor=desk.reviewer)
    run("--resume")
    # At 36 an hour, a cent a second.
    found = [each.figures for each in Chain.objects.get().steps.all()]
    assert [(each["people_cost"], each["people_currency"]) for each in found] == [
        *((2.0, "USD"), (3.5, "USD"))
    ]
