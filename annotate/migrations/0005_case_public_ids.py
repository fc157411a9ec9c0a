import uuid

import kit.database.migrating
from django.db import migrations, models


def name_cases(apps, schema_editor):
    """Existing cases get an id that tells neither when nor why they were opened."""
    Case = apps.get_model("annotate", "EscalationCase")
    named = []
    for case in Case.objects.only("pk").order_by("pk").iterator(chunk_size=1000):
        case.public_id = uuid.uuid4()
        named.append(case)
        if len(named) == 1000:
            Case.objects.bulk_update(named, ["public_id"])
            named = []
    Case.objects.bulk_update(named, ["public_id"])


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0004_vote_chain'),
    ]

    operations = [
        migrations.AddField(
            model_name='escalationcase',
            name='public_id',
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.RunPython(name_cases, migrations.RunPython.noop),
        migrations.AlterField(
            model_name='escalationcase',
            name='public_id',
            field=models.UUIDField(db_default=kit.database.migrating.RandomUUID(), default=uuid.uuid4, editable=False, unique=True),
        ),
    ]
