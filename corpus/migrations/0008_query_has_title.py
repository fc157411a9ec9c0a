"""A query's first line is a title only where the format of its import has titles."""

from typing import Any

from django.db import migrations, models

# The formats with titles, and those that bring no queries, when this was written.
TITLED, RUNS = ("bright", "bright_pro"), ("trec_run", "score_json")


def mark_titles(apps: Any, schema_editor: Any) -> None:
    """Queries of benchmarks that were loaded from formats with titles alone."""
    imports = apps.get_model("corpus", "ImportRun").objects.exclude(format__in=RUNS)
    others = imports.exclude(format__in=TITLED).values("benchmark")
    titled = imports.filter(format__in=TITLED).exclude(benchmark__in=others).values("benchmark")
    queries = apps.get_model("corpus", "Query").objects
    queries.filter(domain__benchmark__in=titled).update(has_title=True)


class Migration(migrations.Migration):
    dependencies = [("corpus", "0007_pagefetch_given")]
    operations = [
        migrations.AddField(
            "query", "has_title", models.BooleanField(default=False, db_default=False)
        ),
        migrations.RunPython(mark_titles, migrations.RunPython.noop),
    ]
