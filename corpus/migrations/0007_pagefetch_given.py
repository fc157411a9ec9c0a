"""What was brought waits to be read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("corpus", "0006_cleaning_jobs")]
    operations = [migrations.AddField("pagefetch", "given", models.JSONField(null=True))]
