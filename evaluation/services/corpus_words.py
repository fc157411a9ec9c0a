"""The corpus version of a release, as its card tells it."""

from evaluation.services.view import View


def corpus_words(view: View) -> str:
    """How a derived version came from what was loaded; nothing of the loaded texts themselves."""
    if view.corpus is None or not view.corpus.is_derived:
        return ""
    steps, at = [], view.corpus
    while at.is_derived and at.parent is not None:
        preset = str(at.recipe.get("preset", "")).replace("_", " ")
        steps.append(
            f"“{at.name}” was made from “{at.parent.name}” by cleaning run "
            f"{at.recipe.get('cleaning')} ({preset})"
        )
        at = at.parent
    return "; ".join(steps) + "."
