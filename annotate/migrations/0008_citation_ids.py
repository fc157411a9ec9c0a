"""`[doc_3]` in an answer becomes the id that it means now: gold comes and goes, what is cited stays.

Every version of an answer and what came with a query; drafts are still being typed. A number that
is higher than there are gold passages cites nothing, and stays.
"""

from collections import defaultdict
from importlib import import_module

from django.db import migrations
from django.db.models import Q

_numbers = import_module("annotate.migrations.0002_citation_numbers")


def by_ids(text, gold):
    def put(match):
        number = _numbers._NUMBER.fullmatch(match[1])
        place = int(number[1]) if number else 0
        pid = gold[place - 1] if 1 <= place <= len(gold) else "["
        return match[0] if set(pid) & set("[]") else f"[{pid}]"

    return _numbers._BRACKETS.sub(put, text)


def gold_of(apps, queries):
    """As a release lists it: that of aspects, else what the expert view calls relevant, by id."""
    with_aspects = set(
        apps.get_model("annotate", "Aspect")
        .objects.filter(query__in=queries, removed_at=None)
        .values_list("query_id", flat=True)
    )
    current = Q(source="original", gold_version__is_current=True)
    labels = apps.get_model("corpus", "Judgment").objects.filter(
        current | ~Q(source="original") & Q(status="standing"),
        query__in=set(queries) - with_aspects,
    )
    relevant, refused = defaultdict(set), defaultdict(set)
    columns = ("query_id", "passage__pid", "label", "source", "passage__version__recipe")
    for query, pid, label, source, recipe in labels.values_list(*columns):
        if recipe.get("kind") == "cleaned":
            continue
        if label > 0:
            relevant[query].add(pid)
        elif source == "expert":
            refused[query].add(pid)
    return _numbers.gold_of(apps, with_aspects) | {
        query: sorted(found - refused[query]) for query, found in relevant.items()
    }


def rename(apps, schema_editor):
    for app, name, field, query in (
        ("annotate", "ReferenceAnswer", "text", "query_id"),
        ("corpus", "Query", "reference_answer", "pk"),
    ):
        rows = apps.get_model(app, name).objects.filter(**{f"{field}__contains": "["})
        found = [each for each in rows.iterator() if "doc" in getattr(each, field)]
        for start in range(0, len(found), 500):
            part = found[start : start + 500]
            gold = gold_of(apps, {getattr(each, query) for each in part})
            for each in part:
                text = by_ids(getattr(each, field), gold.get(getattr(each, query), []))
                if text != getattr(each, field):
                    type(each).objects.filter(pk=each.pk).update(**{field: text})


class Migration(migrations.Migration):
    dependencies = [("annotate", "0007_aspect_subtopic"), ("corpus", "0009_since_0_2")]
    operations = [migrations.RunPython(rename, migrations.RunPython.noop)]
