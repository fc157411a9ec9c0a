"""People's judgment."""

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    """Aspects, gold passages, disputed cases and votes."""

    name = "annotate"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Labels of pairs that are voted on are shown by no list of the corpus room; cleanings
        keep aspects apart, and pools know where their gold is missing; judgments that their givers
        left are swept up; digests are mailed."""
        from annotate.candidates.gaps import find_gaps
        from annotate.drafts.services import forget_drafts
        from annotate.support.services import machines_said
        from annotate.voting.cases import is_undecided
        from annotate.voting.services import finish_all_abandoned
        from annotate.workspace.inherited import aspect_texts, aspects_in
        from corpus.benchmarks.archive import deleting
        from corpus.judgments.shown import hide_labels, tell_machines
        from corpus.pools.services import tell_gaps
        from corpus.versions.effective import tell_aspects
        from kit.runs.periodic import every

        hide_labels(is_undecided)
        tell_machines(machines_said)
        tell_aspects(aspects_in, aspect_texts)
        tell_gaps(find_gaps)
        deleting.connect(forget_drafts, dispatch_uid="annotate")

        def mail_digests() -> None:
            from annotate.digest.services import send_digests

            send_digests()

        every(300, "digests by mail", mail_digests)
        every(60, "abandoned judgments", finish_all_abandoned)
