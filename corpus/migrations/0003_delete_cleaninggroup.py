"""Groups of cleanings stand beside those of every other run (kit.RunGroup).

Runs that are not over get theirs anew: with agents from the pages that wait, by rules from the
beginning, since what their groups had written is counted in these groups alone.

The table stays, empty, while workers of the version before still look into it; a later version drops
it. It takes no row: a cleaning that an old worker planned there would look done to a new one.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q


def plan_again(apps, schema_editor):
    runs = apps.get_model("corpus", "CleaningRun").objects.exclude(
        Q(status__in=("done", "cancelled")) | Q(preset__startswith="marcus")
    )
    runs.update(is_planned=False)
    apps.get_model("corpus", "CleaningGroup").objects.all().delete()


def unchecked(to, **options):
    """A foreign key that the database does not know of: tables that it names can be emptied."""
    return models.ForeignKey(to=to, db_constraint=False, **options)


RUN = unchecked("corpus.cleaningrun", on_delete=django.db.models.deletion.CASCADE, related_name="groups")
PERSON = unchecked(
    settings.AUTH_USER_MODEL,
    on_delete=django.db.models.deletion.PROTECT,
    related_name="+",
    null=True,
)


class Migration(migrations.Migration):
    dependencies = [("corpus", "0002_passage_text"), ("kit", "0002_rungroup")]
    operations = [
        migrations.RunPython(plan_again, migrations.RunPython.noop),
        migrations.AlterField("cleaninggroup", "run", RUN),
        migrations.AlterField("cleaninggroup", "created_by", PERSON),
        migrations.AddConstraint(
            "cleaninggroup", models.CheckConstraint(condition=Q(id__lt=0), name="no_group_any_more")
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[migrations.DeleteModel("CleaningGroup")]
        ),
    ]
