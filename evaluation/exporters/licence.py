"""The licence of a release as a file of its own: what was stated, layer by layer."""

from evaluation.exporters.markup import one_line

NONE = "No licence was stated. Ask before you pass this on."


def render(licence: str) -> str:
    """The whole file; the same licence gives the same text."""
    stated = one_line(licence) or NONE
    return "\n".join(
        (
            "# Licence",
            "",
            stated,
            "",
            "It was stated for the benchmark as a whole. Layers that came from elsewhere keep what "
            "their source says:",
            "",
            "- texts (`documents`, `beir/*/corpus.jsonl`) and queries: their authors, as imported "
            "or collected;",
            "- the original gold (`qrels/*.base.txt`): whoever published it;",
            "- labels given since, aspects, weights, evidence: this release.",
            "",
        )
    )
