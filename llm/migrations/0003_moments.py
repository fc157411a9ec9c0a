from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('llm', '0002_model_profiles'),
    ]

    operations = [
        # Of no use a minute later: a new table instead of fields that change their meaning.
        migrations.DeleteModel(name='RateLimit'),
        migrations.CreateModel(
            name='RateLimit',
            fields=[
                ('endpoint', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('requests_until', models.FloatField(default=0)),
                ('tokens_until', models.FloatField(default=0)),
            ],
        ),
    ]
