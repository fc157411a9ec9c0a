"""People's judgment."""

from django.apps import AppConfig


class AnnotateConfig(AppConfig):
    """Aspects, gold passages, disputed cases and votes."""

    name = "annotate"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Labels of pairs that are voted on are shown by no list of the corpus room; judgments
        that their givers left are swept up."""
        from annotate.voting.cases import is_undecided
        from annotate.voting.services import finish_all_abandoned
        from corpus.judgments.shown import hide_labels
        from kit.runs.chores import every

        hide_labels(is_undecided)
        every(60, "abandoned judgments", finish_all_abandoned)
