from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotate", "0006_since_0_2")]

    operations = [
        migrations.AddField(
            model_name="aspect",
            name="subtopic",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
    ]
