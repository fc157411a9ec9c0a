"""Background work of the corpus room."""

from celery import shared_task

from corpus import cleaning_tasks  # noqa: F401  (registers its task)
from corpus.models import PageFetch, PassageIndexRun
from corpus.services import fetching
from corpus.services.indexing import carry_out


@shared_task(name=PassageIndexRun.task_name)
def index_passages(run_id: int) -> None:
    """Index passages for search; delivered twice, the second finds it claimed."""
    run = PassageIndexRun.objects.filter(pk=run_id).first()
    if run is not None and run.claim():
        carry_out(run)


@shared_task(name=PageFetch.task_name)
def fetch_page(run_id: int) -> None:
    """Fetch a page that an expert asked for; delivered twice, the second finds it claimed."""
    run = PageFetch.objects.select_related("query__domain__benchmark", "created_by")
    found = run.filter(pk=run_id).first()
    if found is not None and found.claim():
        fetching.carry_out(found)
