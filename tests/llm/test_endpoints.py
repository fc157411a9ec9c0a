"""Which endpoints there are, and that no key is ever shown."""

import json
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from pytest_django.fixtures import Settings

from llm import endpoints
from llm.checks import check_files
from llm.endpoints import Endpoint, EndpointError, UnknownEndpoint


@pytest.fixture(autouse=True)
def nothing_configured(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = settings.ASSAY_PRACTICE_URL = ""
    settings.ASSAY_ENDPOINTS = settings.ASSAY_PRICES = ""
    settings.ASSAY_MODEL = "some-model"


def test_nothing_configured_offers_nothing() -> None:
    assert endpoints.available() == []
    with pytest.raises(UnknownEndpoint, match="OPENAI_BASE_URL"):
        endpoints.get("default")


def test_configured_endpoint_is_named_default(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = "https://models.example/v1"
    settings.OPENAI_API_KEY = "sk-secret"
    settings.ASSAY_PRACTICE_URL = "http://127.0.0.1:1/v1"
    expected = Endpoint("default", "https://models.example/v1", "sk-secret", False, "some-model")
    assert endpoints.available() == [expected]
    assert endpoints.get("default") == expected


def test_practice_model_is_practice_by_whatever_address(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = "https://models.example/v1"
    settings.ASSAY_MODEL = "practice-1"
    endpoint = endpoints.get("default")
    assert (endpoint.is_practice, endpoint.default_model) == (True, "practice-1")


def test_key_alone_is_enough_for_the_clients_own_address(settings: Settings) -> None:
    settings.OPENAI_API_KEY = "sk-secret"
    assert endpoints.get("default").base_url == ""


def test_key_is_not_in_the_repr(settings: Settings) -> None:
    settings.OPENAI_API_KEY = "sk-secret"
    assert "sk-secret" not in repr(endpoints.available())


def test_running_practice_model_is_named_practice(settings: Settings) -> None:
    settings.ASSAY_PRACTICE_URL = "http://127.0.0.1:1/v1"
    expected = Endpoint("practice", "http://127.0.0.1:1/v1", "", True, "practice-1")
    assert endpoints.available() == [expected]


def test_command_without_endpoint_gets_a_practice_model_while_it_runs() -> None:
    with endpoints.practice_if_unconfigured() as endpoint:
        assert endpoint.is_practice
        assert endpoints.get("practice") == endpoint
        with urlopen(f"{endpoint.base_url}/models") as answer:
            assert json.load(answer)["data"][0]["id"] == "practice-1"
    assert endpoints.available() == []


def test_command_with_endpoint_gets_that(settings: Settings) -> None:
    settings.OPENAI_API_KEY = "sk-secret"
    with endpoints.practice_if_unconfigured() as endpoint:
        assert endpoint.name == "default"


GPU = {"name": "gpu", "base_url": "http://gpu.example/v1", "default_model": "llama"}


def with_file(settings: Settings, folder: Path, entries: Any) -> None:
    path = folder / "endpoints.json"
    path.write_text(json.dumps(entries))
    settings.ASSAY_ENDPOINTS = str(path)


def test_endpoints_of_a_file_stand_beside_the_plain_one(settings: Settings, tmp_path: Path) -> None:
    settings.OPENAI_API_KEY = "sk-secret"
    limits = {"requests_per_minute": 60, "tokens_per_minute": 9000, "free": True}
    with_file(settings, tmp_path, [{**GPU, **limits, "api_key": "sk-gpu"}])
    assert [endpoint.name for endpoint in endpoints.available()] == ["default", "gpu"]
    gpu = endpoints.get("gpu")
    assert (gpu.api_key, gpu.default_model, gpu.is_practice) == ("sk-gpu", "llama", False)
    assert (gpu.requests_per_minute, gpu.tokens_per_minute, gpu.is_free) == (60, 9000, True)
    assert "sk-gpu" not in repr(gpu)


def test_key_may_be_named_and_kept_in_the_environment() -> None:
    entry = {**GPU, "api_key_env": "GPU_KEY"}
    (gpu,) = endpoints.parse([entry], {"GPU_KEY": "sk-hidden"})
    assert gpu.api_key == "sk-hidden"
    with pytest.raises(EndpointError, match="no GPU_KEY"):
        endpoints.parse([entry], {})


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ({}, "a list"),
        ([GPU, 5], "Endpoint 2"),
        ([{"name": "gpu"}], "Endpoint 1 needs base_url"),
        ([{**GPU, "price": 1}], "Endpoint 1 needs"),
        ([{**GPU, "name": ""}], "Endpoint 1: an empty"),
        ([{**GPU, "name": "n" * 61}], "Endpoint 1: an empty value, or a name over 60"),
        ([{**GPU, "free": "yes"}], "free is no bool"),
        ([{**GPU, "requests_per_minute": True}], "requests_per_minute is no int"),
        ([{**GPU, "tokens_per_minute": -1}], "tokens_per_minute is no int"),
        ([GPU, GPU], "given twice"),
        ([{**GPU, "name": "default"}], "taken"),
    ],
)
def test_file_of_endpoints_that_cannot_be_used_says_where(entries: Any, complaint: str) -> None:
    with pytest.raises(EndpointError, match=complaint):
        endpoints.parse(entries, {})


def test_wrong_files_are_told_at_the_start(settings: Settings, tmp_path: Path) -> None:
    assert check_files() == []
    with_file(settings, tmp_path, [{"name": "gpu"}])
    settings.ASSAY_PRICES = str(tmp_path / "gone.json")
    assert [message.id for message in check_files()] == ["llm.E001", "llm.E002"]
    assert "endpoints.json: Endpoint 1 needs" in check_files()[0].msg
