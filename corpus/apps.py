"""Texts and labels."""

from pathlib import Path
from typing import Any

from django.apps import AppConfig


class CorpusConfig(AppConfig):
    """Benchmarks, queries, passages, corpus versions, judgments, pools, imports."""

    name = "corpus"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Workers sweep up what uploads left and tell webhooks; groups of the identity provider
        become roles; who is erased is no member any more; what a backup leaves out is made anew;
        nothing is written into an archived benchmark."""
        from corpus.benchmarks.archive import deleting, refuse_event
        from kit.account import came_through_provider, erasing
        from kit.audit import recording
        from kit.backup import restored
        from kit.runs.periodic import every

        def sweep() -> None:
            from corpus.imports.uploads import sweep_uploads

            sweep_uploads()

        def place(user: Any, groups: Any, **_: object) -> None:
            from corpus.benchmarks.groups import place_by_groups

            place_by_groups(user, groups)

        came_through_provider.connect(place, weak=False, dispatch_uid="corpus.place_by_groups")

        def leave(user: Any, actor: Any, **_: object) -> None:
            from corpus.benchmarks.services import leave_everywhere

            leave_everywhere(user, actor)

        erasing.connect(leave, weak=False, dispatch_uid="corpus.leave_everywhere")

        def forget(benchmark: Any, **_: object) -> None:
            from corpus.pages.services import forget_pages
            from corpus.texts.indexing import forget_texts

            forget_texts(benchmark)
            forget_pages(benchmark)

        deleting.connect(forget, weak=False, dispatch_uid="corpus.forget")

        def look(scope: str, verb: str, **_: object) -> None:
            refuse_event(scope, verb)

        recording.connect(look, weak=False, dispatch_uid="corpus.refuse_event")

        def bring_back(before: Path, **_: object) -> None:
            from corpus.imports.uploads import move_uploads
            from corpus.texts.indexing import index_again

            move_uploads(before)
            index_again()

        def tell() -> None:
            from corpus.webhooks.services import deliver_apart

            deliver_apart()

        every(3600, "leftovers of uploads", sweep)
        every(5, "webhooks", tell)
        restored.connect(bring_back, weak=False, dispatch_uid="corpus")
