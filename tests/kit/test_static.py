"""Static files as they are served: what every page loads comes in two files."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.template import Context, Template
from django.test import Client

from tests.factories import make_benchmark, make_member

LINKS = Template("{% bundle 'css/all.css' %}{% bundle 'js/all.js' %}")
ADDRESS = re.compile(r'(?:href|src)="/static/([^"]+)"')


@pytest.mark.slow
def test_a_bundle_holds_its_parts_in_order(tmp_path, settings) -> None:
    settings.STATIC_ROOT, settings.ASSAY_PLAIN_STATIC = tmp_path, False
    stored = {"staticfiles": {"BACKEND": "config.static.BundledFiles"}}
    settings.STORAGES = settings.STORAGES | stored
    for _ in range(2):  # a second time over what is there
        ours = {"ignore_patterns": ["drf_spectacular_sidecar", "rest_framework"]}
        call_command("collectstatic", verbosity=0, interactive=False, **ours)
    found = ADDRESS.findall(LINKS.render(Context()))
    assert len(found) == 2
    for name, parts in zip(found, settings.STATIC_BUNDLES.values(), strict=True):
        texts = [(Path(settings.BASE_DIR) / "static" / part).read_text() for part in parts]
        assert (tmp_path / name).read_text() == "\n".join(texts)
        assert (tmp_path / f"{name}.gz").exists()


def test_with_plain_names_the_parts_are_linked() -> None:
    parts = [part for parts in settings.STATIC_BUNDLES.values() for part in parts]
    assert ADDRESS.findall(LINKS.render(Context())) == parts
    there = {str(path.relative_to("static")) for path in Path("static").rglob("*.css")}
    assert there - {"css/api.css"} <= set(parts)


@pytest.mark.django_db
def test_pages_are_sent_compressed() -> None:
    client = Client(headers={"Accept-Encoding": "gzip"})
    client.force_login(make_member(make_benchmark(), "ann", "annotator"))
    response = client.get("/b/demo/queries/")
    assert response.headers["Content-Encoding"] == "gzip"
    assert response.headers["Vary"].count("Accept-Encoding") == 1
    assert client.get("/static/favicon.svg").headers.get("Content-Encoding") is None
