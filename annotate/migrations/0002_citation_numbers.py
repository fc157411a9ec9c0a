"""`[doc_3]` in an answer counts the query's gold as a release lists it, no longer in the order of ids.

Every version of an answer and every draft of one keeps what it cites: its numbers are written anew.
What came with a query counts as its file does and stays; so do the numbers that an answer begun
from it took over. A number that is higher than there are gold passages cites nothing, and stays.
"""

import re
from collections import defaultdict

from django.db import migrations

_BRACKETS = re.compile(r"\[([^\[\]]{1,500})\]")
_NUMBER = re.compile(r"\s*(?:doc )?\s*doc_?([0-9]{1,6})\s*")
_PLACE = re.compile(r"/queries/([0-9]+)/answer/")


def renumbered(text, gold, kept=frozenset()):
    """The text with numbers that counted sorted ids; `gold` are the ids as a release lists them."""
    before = sorted(gold)

    def put(match):
        number = _NUMBER.fullmatch(match[1])
        place = int(number[1]) if number else 0
        if not 1 <= place <= len(before) or match[0] in kept:
            return match[0]
        return f"[doc_{gold.index(before[place - 1]) + 1}]"

    return _BRACKETS.sub(put, text)


def gold_of(apps, queries):
    """The gold of these queries' present aspects, in the order of a release."""
    rows = apps.get_model("annotate", "GoldPassage").objects.filter(
        query__in=queries, ended_at=None, aspect__removed_at=None
    )
    gold = defaultdict(dict)
    for query, pid in rows.order_by("aspect__k", "pk").values_list("query_id", "passage__pid"):
        gold[query][pid] = None
    return {query: list(pids) for query, pids in gold.items()}


def renumber(apps, schema_editor):
    answers = apps.get_model("annotate", "ReferenceAnswer").objects.filter(text__contains="[")
    found = [each for each in answers.select_related("query") if "doc" in each.text]
    gold = gold_of(apps, {each.query_id for each in found})
    for each in found:
        imported = each.query.reference_answer if each.begun_from == "import" else ""
        kept = {match[0] for match in _BRACKETS.finditer(imported)}
        text = renumbered(each.text, gold.get(each.query_id, []), kept)
        if text != each.text:
            type(each).objects.filter(pk=each.pk).update(text=text)
    drafts = apps.get_model("annotate", "Draft").objects.filter(place__contains="/answer/")
    for draft in drafts.filter(text__contains="["):
        if place := _PLACE.search(draft.place):
            query = int(place[1])
            text = renumbered(draft.text, gold_of(apps, [query]).get(query, []))
            if text != draft.text:
                type(draft).objects.filter(pk=draft.pk).update(text=text)


class Migration(migrations.Migration):
    dependencies = [("annotate", "0001_initial")]
    operations = [migrations.RunPython(renumber, migrations.RunPython.noop)]
