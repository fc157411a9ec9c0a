from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('kit', '0004_since_0_2'),
    ]

    operations = [
        migrations.AddField(
            model_name='quota',
            name='priority',
            field=models.PositiveSmallIntegerField(choices=[(1, 'low'), (4, 'normal'), (16, 'high')], null=True),
        ),
    ]
