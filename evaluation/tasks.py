"""Background work of this room."""

from celery import shared_task

from evaluation.models import Release
from evaluation.services.releases import carry_out


@shared_task(name="evaluation.build_release")
def build_release(release_id: int) -> None:
    """Build a release that is due; delivered twice it does nothing the second time."""
    release = Release.objects.select_related("benchmark").filter(pk=release_id).first()
    if release is not None and release.claim():
        carry_out(release)
