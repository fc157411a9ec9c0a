"""What other machines are told of a benchmark, over real HTTP."""

import hmac
import http.server
import json
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from corpus.benchmarks.services import state_licence
from corpus.imports.services import cancel_import, queue_import
from corpus.models import Delivery, Webhook
from corpus.webhooks.services import KINDS, TRIES, add_webhook, deliver, send_again
from kit.errors import Refused
from kit.models import Event
from kit.runs.periodic import PeriodicTasks
from tests.factories import make_benchmark, make_member
from tests.local_site import serving

pytestmark = pytest.mark.django_db(transaction=True)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what it is sent, and answers what the test says."""

    got: list[tuple[dict[str, str], bytes]] = []
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).got.append((dict(self.headers), body))
        said = b"<b>thanks</b>"
        self.send_response(self.status)
        self.send_header("Location", "http://127.0.0.1:9/")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(settings) -> Iterator[str]:
    Receiver.got, Receiver.status = [], 200
    with serving(Receiver) as port:
        settings.ASSAY_FETCH_ALSO = [f"127.0.0.1:{port}"]
        yield f"http://127.0.0.1:{port}/hook"


@pytest.fixture
def benchmark():
    return make_benchmark()


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "marie", "admin")


def add(benchmark, admin, address, *kinds: str) -> tuple[Webhook, str]:
    return add_webhook(benchmark=benchmark, actor=admin, url=address, kinds=kinds or [*KINDS])


def start(benchmark, admin, tmp_path):
    path = tmp_path / "biology.jsonl"
    path.write_text("{}")
    return queue_import(benchmark=benchmark, actor=admin, format="bright", path=path)


def again_due() -> None:
    Delivery.objects.update(due_at=timezone.now())


def test_an_event_is_told_once_and_signed(benchmark, admin, address, tmp_path) -> None:
    start(benchmark, admin, tmp_path)  # before: not told
    webhook, secret = add(benchmark, admin, address, "imports")
    run = start(benchmark, admin, tmp_path)
    # None of these is of the kind, or of the benchmark.
    state_licence(benchmark=benchmark, layer="queries", licence="CC0", actor=admin)
    other = make_benchmark("other")
    start(other, admin, tmp_path)
    assert (deliver(), deliver()) == (1, 0)
    [(headers, body)] = Receiver.got
    event = Event.objects.get(verb="start import", target_id=str(run.pk), scope="demo")
    assert json.loads(body) == {
        "id": event.pk,
        "event": "start import",
        "benchmark": "demo",
        "target": {"type": "corpus.importrun", "id": str(run.pk)},
        "at": event.at.isoformat(),
    }
    assert b"marie" not in body
    assert b"biology.jsonl" not in body
    said = dict(part.split("=") for part in headers["Assay-Signature"].split(","))
    signed = hmac.new(secret.encode(), f"{said['t']}.".encode() + body, "sha256").hexdigest()
    assert said["v1"] == signed
    assert secret == webhook.secret
    assert len(secret) == 64
    delivery = Delivery.objects.get()
    assert headers["Idempotency-Key"] == str(delivery.key)
    assert (delivery.state, delivery.status, delivery.tries) == ("taken", 200, 1)
    assert delivery.answer == "<b>thanks</b>"


def test_what_is_not_taken_is_tried_again_later_under_the_same_key(
    benchmark, admin, address, tmp_path
) -> None:
    add(benchmark, admin, address, "imports")
    start(benchmark, admin, tmp_path)
    Receiver.status = 302  # not followed
    pauses = []
    for _ in range(TRIES):
        again_due()
        assert deliver() == 1
        delivery = Delivery.objects.get()
        pauses.append((delivery.due_at - delivery.tried_at) / timedelta(minutes=1))
        assert deliver() == 0  # not due
    assert pauses == [2**n for n in range(TRIES)]
    assert (delivery.state, delivery.status, delivery.tries) == ("failed", 302, TRIES)
    again_due()
    assert deliver() == 0
    Receiver.status = 202
    send_again(delivery=delivery, actor=admin)
    assert deliver() == 1
    assert Delivery.objects.get().state == "taken"
    assert len({headers["Idempotency-Key"] for headers, _ in Receiver.got}) == 1
    assert len(Receiver.got) == TRIES + 1


def test_nobody_there_is_a_try_and_an_inner_address_no_address(
    benchmark, admin, address, settings, tmp_path
) -> None:
    for inner in ("http://169.254.169.254/x", "http://127.0.0.1:5432/", "ftp://a.example", "x"):
        with pytest.raises(Refused) as refused:
            add(benchmark, admin, inner)
        assert refused.value.field == "url"
    add(benchmark, admin, address, "imports")
    settings.ASSAY_FETCH_ALSO = []  # it became an inner one since
    start(benchmark, admin, tmp_path)
    assert deliver() == 1
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.status, Receiver.got) == ("waiting", 0, [])
    assert "not one of the web's" in delivery.answer or "nowhere" in delivery.answer


def test_workers_at_once_tell_each_event_once(benchmark, admin, address, tmp_path) -> None:
    add(benchmark, admin, address, "imports")
    for _ in range(6):
        cancel_import(run=start(benchmark, admin, tmp_path), actor=admin)

    def work() -> None:
        deliver()
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    deliver()
    told = [json.loads(body)["id"] for _, body in Receiver.got]
    assert len(told) == len(set(told)) == 12


def test_workers_do_it_from_time_to_time(benchmark, admin, address, tmp_path) -> None:
    add(benchmark, admin, address, "imports")
    start(benchmark, admin, tmp_path)
    assert "webhooks" in PeriodicTasks().do_due(now=time.monotonic())
    for thread in [each for each in threading.enumerate() if each.name == "webhooks"]:
        thread.join()
    assert len(Receiver.got) == 1


def test_an_event_that_comes_late_is_told(benchmark, admin, address, tmp_path) -> None:
    """Of a transaction that began before others and ended after them."""
    webhook, _ = add(benchmark, admin, address, "imports")
    run = start(benchmark, admin, tmp_path)
    early = Event.objects.get(target_id=str(run.pk), verb="start import")
    cancel_import(run=run, actor=admin)
    Event.objects.filter(pk=early.pk).update(scope="not committed yet")
    assert deliver() == 1
    Event.objects.filter(pk=early.pk).update(scope="demo")
    assert deliver() == 1
    assert [json.loads(body)["event"] for _, body in Receiver.got] == [
        "cancel import",
        "start import",
    ]
    # What is hours old is settled and looked at no more.
    Event.objects.update(at=timezone.now() - timedelta(hours=4))
    Delivery.objects.update(tried_at=timezone.now() - timedelta(days=31))
    assert (deliver(), deliver(), Delivery.objects.count()) == (0, 0, 0)
    webhook.refresh_from_db()
    assert webhook.seen == Event.objects.filter(scope="demo").latest("pk").pk


def test_kinds_tell_of_no_label_vote_case_exam_or_person() -> None:
    told = {each for _, types in KINDS.values() for each in types}
    for word in (
        "judgment",
        "vote",
        "case",
        "exam",
        "membership",
        "user",
        "gold",
        "audit",
        "check",
    ):
        assert not [each for each in told if word in each], word


def test_admins_add_and_watch_them_on_screen_and_by_script(benchmark, admin, address, tmp_path):
    client = Client()
    client.force_login(admin)
    url, api = "/b/demo/webhooks/", "/api/b/demo/webhooks/"
    assert client.post(url, {"url": address}).status_code == 422
    page = client.post(url, {"url": address, "kinds": ["imports"]}).content.decode()
    webhook = Webhook.objects.get()
    assert webhook.secret in page
    assert webhook.secret not in client.get(url).content.decode()
    given = {"url": address, "kinds": ["releases"]}
    made = client.post(api, given, content_type="application/json")
    assert (made.status_code, len(made.json()["secret"])) == (201, 64)
    assert "secret" not in client.get(api).json()["results"][0]

    start(benchmark, admin, tmp_path)
    deliver()
    page = client.get(f"{url}{webhook.pk}/").content.decode()
    assert "start import" in page
    assert "&lt;b&gt;thanks" in page
    [row] = client.get(f"{api}{webhook.pk}/?state=taken").json()["results"]
    assert (row["event"], row["status"], row["tries"]) == ("start import", 200, 1)
    again = client.post(f"{api}deliveries/{row['id']}/again/")
    assert (again.status_code, again.json()["state"]) == (200, "waiting")
    assert client.post(f"{url}deliveries/{row['id']}/again/").status_code == 302
    deliver()
    assert len(Receiver.got) == 2
    assert client.delete(f"{api}{made.json()['id']}/").status_code == 204
    assert client.post(f"{url}{webhook.pk}/remove/").status_code == 302
    assert not Webhook.objects.exists()
    verbs = set(Event.objects.filter(actor=admin).values_list("verb", flat=True))
    assert {"add webhook", "send webhook again", "remove webhook"} <= verbs
