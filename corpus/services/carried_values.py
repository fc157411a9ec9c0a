"""Carrying labels of any one source to a derived version, by the rule that carries them all."""

from collections import defaultdict
from collections.abc import Collection, Mapping

from corpus.marcus.carrying import label_of
from corpus.models import CorpusVersion, Passage
from corpus.services.crosswalk_rows import CHUNK, reached
from corpus.services.held import Pair


def carried_values(version: CorpusVersion, values: Mapping[Pair, int]) -> dict[Pair, int]:
    """Labels of any source by pair, as they hold in the version: by the same rule, told apart from
    all others. Those of passages of another line of versions are left out."""
    passages = {passage for _, passage in values}
    layers = _layers(passages)
    own = {pair: label for pair, label in values.items() if layers[pair[1]] in version.layers}
    if not version.is_derived or version.parent is None:
        return own
    by_query: dict[int, dict[int, int]] = defaultdict(dict)
    for (query, passage), label in carried_values(version.parent, values).items():
        by_query[query][passage] = label
    forward, holds = reached(version, {key for known in by_query.values() for key in known})
    found: dict[Pair, int] = {}
    for query, known in by_query.items():
        for new in {new for key in known for new in forward.get(key, ())}:
            taken = label_of(known, holds[new])
            if taken is not None:
                found[query, new] = taken
    return found | own


def _layers(passages: Collection[int]) -> dict[int, int]:
    keys = sorted(passages)
    found: dict[int, int] = {}
    for start in range(0, len(keys), CHUNK):
        rows = Passage.objects.filter(pk__in=keys[start : start + CHUNK]).order_by()
        found.update(rows.values_list("pk", "version_id"))
    return found
