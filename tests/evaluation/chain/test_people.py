"""A chain that waits for two kinds of people, one after the other: who write and who review."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotate.assignments.services import submit_query, take_back
from annotate.models import Review
from annotate.review.services import accept_review, score_weights, start_review
from evaluation.chain.models import Chain
from evaluation.models import Release
from evaluation.verification.folder import verify
from tests.annotate.reviewing import Desk, look_at_all, make_desk

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
