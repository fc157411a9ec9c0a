"""What tests of this room share."""

import pytest

from debate.models import DebateRun
from tests.factories import make_benchmark, make_member, make_pool


@pytest.fixture
def with_mail(settings) -> None:
    settings.EMAIL_URL = "smtp://mail.example"


@pytest.fixture
def admin():
    return make_member(make_benchmark(), "admin", "admin")


@pytest.fixture
def run() -> DebateRun:
    benchmark = make_benchmark()
    return DebateRun.objects.create(
        benchmark=benchmark, pool=make_pool(benchmark), name="r", endpoint="practice", model="m"
    )
