"""Publishing guidelines: by version, and one key away on every page."""

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from annotate.guidelines.rendering import check_markdown
from annotate.models import Guideline
from annotate.rights import require_admin
from corpus.models import Benchmark
from kit import audit
from kit.errors import Refused


def publish_guideline(
    *, benchmark: Benchmark, text: str, actor: User, expected: int, note: str = ""
) -> Guideline:
    """Publish a new version over version `expected`; what was decided keeps the version it had.

    Raises Refused for an empty or unchanged text, one that takes too long to show, and where
    somebody published meanwhile, and PermissionDenied for everybody but admins.
    """
    require_admin(benchmark, actor, "Guidelines are published by admins.")
    current = Guideline.objects.current(benchmark)
    if not text.strip():
        raise Refused("Write the guidelines first.", field="text")
    if current.version != expected:
        raise Refused(
            f"Version {current.version} was published while you wrote. Look at it, then publish.",
            field="text",
        )
    if text.strip() == current.text.strip():
        raise Refused("Nothing was changed.", field="text")
    check_markdown(text, field="text")
    try:
        with transaction.atomic():
            new = Guideline.objects.create(
                benchmark=benchmark,
                version=expected + 1,
                text=text,
                note=note.strip(),
                created_by=actor,
            )
            audit.record(actor, "publish guidelines", new, benchmark.slug, {"version": new.version})
    except IntegrityError:
        raise Refused(
            "Another version was published at the same moment. Look at it, then publish.",
            field="text",
        ) from None
    return new
