from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('corpus', '0011_webhooks'),
    ]

    operations = [
        migrations.AddField(
            model_name='benchmark',
            name='archived_at',
            field=models.DateTimeField(null=True),
        ),
    ]
