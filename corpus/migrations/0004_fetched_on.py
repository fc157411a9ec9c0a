"""Passages and pages say on which day their source was fetched.

Of pages that experts had fetched before, the day is that on which they were stored.
"""

from django.db import migrations, models


def date_fetched_pages(apps, schema_editor):
    fetched = apps.get_model("corpus", "CollectedPage").objects.filter(origin="fetched")
    for document, stored in fetched.values_list("document_id", "created_at"):
        for kind, name in (("Document", "pk"), ("Passage", "document_id")):
            rows = apps.get_model("corpus", kind).objects.filter(**{name: document})
            rows.update(fetched_on=stored.date())


class Migration(migrations.Migration):
    dependencies = [("corpus", "0003_delete_cleaninggroup")]
    operations = [
        migrations.AddField("document", "fetched_on", models.DateField(null=True)),
        migrations.AddField("passage", "fetched_on", models.DateField(null=True)),
        migrations.RunPython(date_fetched_pages, migrations.RunPython.noop),
    ]
