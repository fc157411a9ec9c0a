"""What ends a drive when several things go wrong at once."""

import pytest

from evaluation.models import GradeRun
from kit.errors import Pauses, Refused
from kit.runs.driving import Drive
from kit.runs.models import LostLease, RunStatus, Stopping
from tests.evaluation.rag.boards import Sheets

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("errors", "status", "words"),
    [
        # Whoever has the run now meets the rest.
        ([Refused("No such model."), LostLease()], RunStatus.RUNNING, ""),
        ([Pauses("No money."), LostLease()], RunStatus.RUNNING, ""),
        ([Stopping(), LostLease()], RunStatus.RUNNING, ""),
        # A worker that is to end gives the run back: nobody waits until its lease is over.
        ([Stopping()], RunStatus.QUEUED, ""),
        ([Refused("No such model."), Stopping()], RunStatus.QUEUED, ""),
        ([ZeroDivisionError(), Pauses("No money.")], RunStatus.PAUSED, "No money."),
        ([ZeroDivisionError(), Refused("No such model.")], RunStatus.FAILED, "No such model."),
    ],
    ids=str,
)
def test_of_several_errors_at_once_the_lease_comes_first(errors, status, words) -> None:
    sheets = Sheets(1)
    run = sheets.graded("one", {})
    GradeRun.objects.filter(pk=run.pk).update(status=RunStatus.QUEUED)
    run.refresh_from_db()
    assert run.claim()

    def plan(_: GradeRun) -> None:
        raise ExceptionGroup("at once", errors)

    Drive(GradeRun, work=lambda _: None, close=lambda _: None, plan=plan).drive(run)
    run.refresh_from_db()
    assert (run.status, run.error) == (status, words)
