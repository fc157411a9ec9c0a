"""Limits are two moments each. The four columns of the version before stay for its workers, which
limit themselves by them until they are started anew; a later version drops them.
"""

from django.db import migrations, models

BEFORE = ("requests", "tokens", "filled_at")


class Migration(migrations.Migration):
    dependencies = [("llm", "0002_model_profiles")]
    operations = [
        migrations.AlterField(
            "ratelimit", "version", models.BigIntegerField(default=0, db_default=0)
        ),
        *(
            migrations.AlterField("ratelimit", name, models.FloatField(db_default=0))
            for name in BEFORE
        ),
        *(
            migrations.AddField("ratelimit", name, models.FloatField(default=0, db_default=0))
            for name in ("requests_until", "tokens_until")
        ),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveField("ratelimit", name) for name in ("version", *BEFORE)
            ]
        ),
    ]
