"""Which answers a comparison compares."""

from django.db.models import Exists, OuterRef

from annotate.models import AnswerAuthor, AnswerPair, AnswerRating, ReferenceAnswer
from corpus.models import Query


def fill_pairs(query: Query) -> None:
    """Let open pairs of the query hold what stands now; rated ones keep what was rated.

    The person's answer must be their own: one begun from a model's or an imported answer compares
    nothing. For a caller that holds the query in its transaction.
    """
    rated = Exists(AnswerRating.objects.filter(pair=OuterRef("pk")))
    pairs = AnswerPair.objects.filter(query=query, comparison__closed_at=None).exclude(rated)
    standing = ReferenceAnswer.objects.standing().filter(query=query)
    human = standing.independent().first()
    model = standing.filter(author=AnswerAuthor.MODEL).first()
    pairs.update(human=human, model=model)
