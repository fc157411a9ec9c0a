from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0013_default_of_truths'),
    ]

    operations = [
        migrations.AlterField(
            model_name='gradingsample',
            name='kind',
            field=models.CharField(choices=[('answers', 'answers'), ('sentences', 'sentences'), ('truths', 'generated answers'), ('long', 'long generated answers')], default='answers', max_length=9),
        ),
    ]
