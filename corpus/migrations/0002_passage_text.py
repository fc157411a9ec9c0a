"""The passages' full-text table, and ids in the order of their code points.

On PostgreSQL ids are compared as SQLite compares them, whatever the database's language: so the
index on ids answers "begins with", and lists have one order. There the index on passage ids also
carries the row id, so that what a deep page skips is skipped in the index; SQLite's always do.
"""

from django.db import migrations

CREATE_INDEX = {
    "sqlite": [
        "CREATE VIRTUAL TABLE corpus_passage_text "
        # Beginnings of three letters, being those of many words, have lists of their own.
        "USING fts5(scope, body, content='', detail=column, prefix='3')",
        # Merging is done in small steps by `settle`, so that no insert has to wait for a big one:
        # SQLite forces one when two thousand pieces lie about.
        "INSERT INTO corpus_passage_text(corpus_passage_text, rank) VALUES ('automerge', 0)",
        "INSERT INTO corpus_passage_text(corpus_passage_text, rank) VALUES ('crisismerge', 1999)",
        "INSERT INTO corpus_passage_text(corpus_passage_text, rank) VALUES ('usermerge', 16)",
        # Bytes held in memory: all of one transaction, so that it becomes one piece.
        "INSERT INTO corpus_passage_text(corpus_passage_text, rank) VALUES ('hashsize', 8388608)",
    ],
    "postgresql": [
        "CREATE TABLE corpus_passage_text (rowid bigint PRIMARY KEY, version_id bigint NOT NULL, "
        "domain_id bigint NOT NULL, body tsvector NOT NULL)",
        "CREATE INDEX corpus_passage_text_body ON corpus_passage_text USING gin (body)",
        # For words that most passages of a domain hold: its first ones are soon found.
        "CREATE INDEX corpus_passage_text_scope ON corpus_passage_text (version_id, domain_id)",
    ],
}
ONCE = (
    "ALTER TABLE corpus_passage DROP CONSTRAINT passage_once, ADD CONSTRAINT passage_once "
    "UNIQUE (version_id, domain_id, pid) INCLUDE (id)"
)
IDS = {"corpus_passage": "pid", "corpus_document": "doc_id", "corpus_query": "qid"}


def create_text_index(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in CREATE_INDEX[vendor]:
        schema_editor.execute(statement)
    if vendor == "postgresql":
        compare_ids_by_code_points(apps, schema_editor)
        schema_editor.execute(ONCE)


def compare_ids_by_code_points(apps, schema_editor):
    for table, column in IDS.items():
        kind = apps.get_model("corpus", table.removeprefix("corpus_"))
        size = kind._meta.get_field(column).max_length
        schema_editor.execute(
            f'ALTER TABLE {table} ALTER COLUMN {column} TYPE varchar({size}) COLLATE "C"'
        )


def drop_text_index(apps, schema_editor):
    schema_editor.execute("DROP TABLE IF EXISTS corpus_passage_text")


class Migration(migrations.Migration):
    dependencies = [("corpus", "0001_initial")]
    operations = [migrations.RunPython(create_text_index, drop_text_index)]
