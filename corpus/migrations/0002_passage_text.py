"""The passages' full-text table, and ids in the order of their code points.

On PostgreSQL ids are compared as SQLite compares them, whatever the database's language: so the
index on ids answers "begins with", and lists have one order. There the index on passage ids also
carries the row id, so that what a deep page skips is skipped in the index; SQLite's always do.
"""

from django.db import migrations

from corpus import textindex

ONCE = "ALTER TABLE corpus_passage DROP CONSTRAINT passage_once, ADD CONSTRAINT passage_once "
KEY = "UNIQUE (version_id, domain_id, pid) INCLUDE (id)"
IDS = {"corpus_passage": "pid", "corpus_document": "doc_id", "corpus_query": "qid"}


def create(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in textindex.CREATE[vendor]:
        schema_editor.execute(statement)
    if vendor == "postgresql":
        collate(apps, schema_editor)
        schema_editor.execute(f"{ONCE}{KEY}")


def collate(apps, schema_editor):
    for table, column in IDS.items():
        kind = apps.get_model("corpus", table.removeprefix("corpus_"))
        size = kind._meta.get_field(column).max_length
        schema_editor.execute(
            f'ALTER TABLE {table} ALTER COLUMN {column} TYPE varchar({size}) COLLATE "C"'
        )


def drop(apps, schema_editor):
    for statement in textindex.DROP[schema_editor.connection.vendor]:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("corpus", "0001_initial")]
    operations = [migrations.RunPython(create, drop)]
