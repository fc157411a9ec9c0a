import json

from django.db import migrations, models
from django.utils.crypto import salted_hmac

CHAINED = (
    *("case_id", "voter_id", "label", "reason", "elapsed_ms", "arm", "saw_positions"),
    *("first_label", "first_ms", "span_start", "span_end", "batch_id", "guideline"),
)


def link(apps, schema_editor):
    """Chain the votes that were cast before, as they are found."""
    Vote = apps.get_model("annotate", "Vote")
    ends, changed = {}, []
    for vote in Vote.objects.order_by("case", "pk").iterator(chunk_size=1000):
        values = (getattr(vote, name) for name in CHAINED)
        said = [ends.get(vote.case_id, ""), *(int(v) if isinstance(v, bool) else v for v in values)]
        vote.link = salted_hmac("annotate.Vote", json.dumps(said), algorithm="sha256").hexdigest()
        ends = {vote.case_id: vote.link}
        changed.append(vote)
        if len(changed) == 1000:
            Vote.objects.bulk_update(changed, ["link"])
            changed = []
    Vote.objects.bulk_update(changed, ["link"])


class Migration(migrations.Migration):

    dependencies = [
        ('annotate', '0003_shares'),
    ]

    operations = [
        migrations.AddField(
            model_name='vote',
            name='link',
            field=models.CharField(db_default='', default='', editable=False, max_length=64),
        ),
        migrations.RunPython(link, migrations.RunPython.noop),
    ]
