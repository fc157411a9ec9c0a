"""Runs of one job of cleanings follow one another."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0005_licence")]
    operations = [
        migrations.AddField(
            "cleaningrun",
            "follows",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="followers",
                to="corpus.cleaningrun",
            ),
        ),
    ]
