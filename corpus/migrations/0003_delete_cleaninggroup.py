"""Groups of cleanings stand beside those of every other run (kit.RunGroup).

Runs that are not over get theirs anew: with agents from the pages that wait, by rules from the
beginning, since what their groups had written is counted in these groups alone.
"""

from django.db import migrations
from django.db.models import Q


def plan_again(apps, schema_editor):
    runs = apps.get_model("corpus", "CleaningRun").objects.exclude(
        Q(status__in=("done", "cancelled")) | Q(preset__startswith="marcus")
    )
    runs.update(is_planned=False)


class Migration(migrations.Migration):
    dependencies = [("corpus", "0002_passage_text"), ("kit", "0002_rungroup")]
    operations = [
        migrations.RunPython(plan_again, migrations.RunPython.noop),
        migrations.DeleteModel(name="CleaningGroup"),
    ]
