"""Background work of the annotate room."""

from celery import shared_task

from annotate.workspace.loading import run_import
from corpus.models import ImportRun


@shared_task(name=ImportRun.task_name)
def import_benchmark(run_id: int) -> None:
    """Run an import that is due; delivered twice, the second finds it claimed."""
    run = ImportRun.objects.filter(pk=run_id).first()
    if run is not None and run.claim():
        run_import(run)
