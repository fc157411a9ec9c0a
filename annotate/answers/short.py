"""Short answers taken from reference answers, so that debates can judge queries that came without
any, as those of Bright-Pro do (docs/answers.md)."""

from collections import Counter

from django.contrib.auth.models import User
from django.db import transaction

from annotate.answers.citing import without_citations
from annotate.answers.evidence import Published, published_answers
from corpus.models import Benchmark, Domain, Query
from corpus.texts.answers import cleaned_answers, replace_answers
from kit.errors import Refused

COUNTS = ("taken", "had_answers", "no_reference", "practice", "too_long")


def reference_text(query: Query) -> str:
    """The query's published reference answer without its citations; "" where there is none.

    What the practice model wrote is none: it knows nothing.
    """
    return _plain(published_answers(query.domain, only=query.pk)[query.pk])


def take_reference_answers(
    *, benchmark: Benchmark, domain: str = "", actor: User | None
) -> dict[str, int]:
    """Give every query without short answers its published reference answer as its only one.

    Published is the version chosen here, else the imported one. Citations are left out. Queries
    that have answers keep them. How many were `taken`; the other COUNTS say why some were not.
    """
    counts = Counter(dict.fromkeys(COUNTS, 0))
    domains = Domain.objects.ready().filter(benchmark=benchmark)
    domains = domains.filter(name=domain) if domain else domains
    if domain and not domains:
        raise Refused(f"{benchmark.slug} has no domain {domain!r}.", field="domain")
    for each in domains:
        with transaction.atomic():
            published = published_answers(each)
            wanted: dict[Query, list[str]] = {}
            for query in each.queries.select_for_update(of=("self",)).select_related("domain"):
                text = _plain(published.get(query.pk, Published()))
                if (why := _why_not(query, text, published)) == "taken":
                    wanted[query] = [text]
                counts[why] += 1
            replace_answers(benchmark, wanted, actor=actor, source="reference answer")
    return dict(counts)


def _why_not(query: Query, text: str, published: dict[int, Published]) -> str:
    if any(map(str.strip, query.answers)):
        return "had_answers"
    if not text:
        return "practice" if published[query.pk].practice else "no_reference"
    try:
        cleaned_answers([text])
    except Refused:
        return "too_long"
    return "taken"


def _plain(answer: Published) -> str:
    return "" if answer.practice else without_citations(answer.text, answer.cited).strip()
