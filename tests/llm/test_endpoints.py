"""Which endpoints there are, and that no key is ever shown."""

import itertools
import json
import os
import tomllib
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from pytest_django.fixtures import Settings

from kit.models import Event
from llm import endpoints
from llm.apps import check_files, note_endpoints
from llm.endpoints import Endpoint, SettingsError


@pytest.fixture(autouse=True)
def nothing_configured(settings: Settings) -> None:
    settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = settings.ASSAY_PRACTICE_URL = ""
    settings.ASSAY_ENDPOINTS = settings.ASSAY_PRICES = ""
    settings.ASSAY_MODEL = "some-model"
    settings.ASSAY_MODEL_OF_ROLE = {}


def test_nothing_configured_offers_nothing() -> None:
    assert endpoints.available() == []
    with pytest.raises(SettingsError, match="OPENAI_BASE_URL"):
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


def test_key_alone_is_enough_and_is_not_in_the_repr(settings: Settings) -> None:
    settings.OPENAI_API_KEY = "sk-secret"
    assert endpoints.get("default").base_url == ""  # the client's own
    assert "sk-secret" not in repr(endpoints.available())
    with endpoints.practice_if_unconfigured() as endpoint:
        assert endpoint.name == "default"


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
    (gpu,), _ = endpoints.parse_file([entry], {"GPU_KEY": "sk-hidden"})
    assert gpu.api_key == "sk-hidden"
    with pytest.raises(SettingsError, match="no GPU_KEY"):
        endpoints.parse_file([entry], {})


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ("gpu", "a list"),
        ({"endpoints": {}}, "a list"),
        ({"endpoint": []}, "endpoints, a list, and roles"),
        ({"endpoints": [], "roles": []}, "endpoints, a list, and roles"),
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
    with pytest.raises(SettingsError, match=complaint):
        endpoints.parse_file(entries, {})


def test_wrong_files_are_told_at_the_start(settings: Settings, tmp_path: Path) -> None:
    assert check_files() == []
    with_file(settings, tmp_path, [{"name": "gpu"}])
    settings.ASSAY_PRICES = str(tmp_path / "gone.json")
    assert [message.id for message in check_files()] == ["llm.E001", "llm.E002"]
    assert "endpoints.json: Endpoint 1 needs" in check_files()[0].msg


def chosen(role: str) -> tuple[str, str]:
    found = endpoints.for_role(role)
    return found.name, found.default_model


def with_roles(settings: Settings, folder: Path, roles: str) -> None:
    """Two endpoints and these roles, in TOML."""
    path = folder / "endpoints.toml"
    entry = '[[endpoints]]\nname = "{}"\nbase_url = "http://{}.example/v1"\ndefault_model = "{}"\n'
    two = entry.format("one", "one", "llama") + entry.format("two", "two", "qwen")
    path.write_text(f"{two}[roles]\n{roles}")
    settings.ASSAY_ENDPOINTS = str(path)


WRITERS = [role for role in endpoints.ROLES if role != endpoints.RERANKER]


def test_without_roles_the_first_endpoint_has_them_all(settings: Settings, tmp_path: Path) -> None:
    with_roles(settings, tmp_path, "")
    assert {chosen(role) for role in WRITERS} == {("one", "llama")}
    assert endpoints.available("reranker") == []  # neither is a rerank server
    assert endpoints.named_for("judge") is None


def test_a_role_is_an_endpoint_and_a_model(settings: Settings, tmp_path: Path) -> None:
    roles = (
        'agents = "two/a/b"\njudge = { endpoint = "two", model = "j" }\n'
        'cleaner = "two"\nanswerer = "writer"\n'
    )
    with_roles(settings, tmp_path, roles)
    found = {role: chosen(role) for role in WRITERS}
    assert found == {
        "agents": ("two", "a/b"),
        "adjudicator": ("two", "a/b"),
        "judge": ("two", "j"),
        "cleaner": ("two", "qwen"),
        "splitter": ("two", "qwen"),
        "answerer": ("one", "writer"),
        "grader": ("one", "llama"),
        "embedder": ("one", "llama"),
    }
    assert [each.name for each in endpoints.available("judge")] == ["two", "one"]
    assert endpoints.in_role(endpoints.get("one"), "judge").default_model == "llama"
    assert endpoints.in_role(endpoints.get("two"), "judge").default_model == "j"


def test_the_environment_goes_before_the_file(settings: Settings, tmp_path: Path) -> None:
    with_roles(settings, tmp_path, 'judge = "two"\ngrader = "two"')
    settings.ASSAY_MODEL_OF_ROLE = {"judge": "one/small", "embedder": "", "answerer": "big"}
    assert chosen("judge") == ("one", "small")
    assert chosen("grader") == ("two", "qwen")
    assert chosen("answerer") == ("one", "big")
    assert endpoints.named_for("embedder") is None


def test_the_practice_model_has_every_role_itself(settings: Settings) -> None:
    settings.ASSAY_PRACTICE_URL = "http://127.0.0.1:1/v1"
    settings.ASSAY_MODEL_OF_ROLE = {"judge": "gpt-5"}
    assert chosen("judge") == ("practice", "practice-1")
    settings.ASSAY_PRACTICE_URL = ""
    assert endpoints.roles() == {}
    assert endpoints.available("judge") == []


def test_a_role_that_asks_the_practice_model_is_practice(settings: Settings) -> None:
    settings.OPENAI_API_KEY = "sk-secret"
    settings.ASSAY_MODEL_OF_ROLE = {"judge": "practice-1"}
    assert endpoints.for_role("judge").is_practice
    assert not endpoints.for_role("agents").is_practice


@pytest.mark.parametrize(
    ("roles", "complaint"),
    [
        ('jugde = "one"', "roles.jugde: the roles are agents, judge"),
        ('judge = "there/gpt-5"', "roles.judge names the endpoint 'there'; there are one, two"),
        ("judge = 5", "roles.judge is"),
        ("judge = { name = 1 }", "roles.judge is"),
    ],
)
def test_roles_that_cannot_be_are_told_at_the_start(
    roles: str, complaint: str, settings: Settings, tmp_path: Path
) -> None:
    with_roles(settings, tmp_path, roles)
    assert [message.id for message in check_files()] == ["llm.E001"]
    assert complaint in check_files()[0].msg


def test_broken_toml_is_told_with_its_file(settings: Settings, tmp_path: Path) -> None:
    with_roles(settings, tmp_path, "judge = ")
    with pytest.raises(SettingsError, match=r"endpoints\.toml: "):
        endpoints.available()


def test_the_sample_file_has_one_of_each_and_every_role(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = Path(__file__).parents[2] / "docs" / "endpoints.toml"
    entries = tomllib.loads(sample.read_text())["endpoints"]
    for name in (entry["api_key_env"] for entry in entries if "api_key_env" in entry):
        monkeypatch.setenv(name, f"key of {name}")
    settings.ASSAY_ENDPOINTS = str(sample)
    found = {endpoint.name: endpoint for endpoint in endpoints.available()}
    kinds = ["openai", "azure", "openrouter", "deepseek", "vllm", "ollama", "litellm", "tei"]
    assert list(found) == kinds
    assert chosen("reranker") == ("tei", "BAAI/bge-reranker-v2-m3")
    assert found["openai"].api_key == "key of OPENAI_KEY"
    assert found["azure"].api_version
    assert found["vllm"].is_free
    assert endpoints.roles().keys() == endpoints.ROLES.keys()
    assert chosen("agents") == ("openrouter", "meta-llama/llama-3.3-70b-instruct")
    assert check_files() == []
    # As JSON it says the same.
    parsed = endpoints.parse_file(tomllib.loads(sample.read_text()), os.environ)
    again = json.loads(json.dumps(tomllib.loads(sample.read_text())))
    assert endpoints.parse_file(again, os.environ) == parsed


@pytest.mark.django_db
def test_a_changed_endpoint_is_in_the_record(settings: Settings, tmp_path: Path) -> None:
    """Added, changed in address, model or price, removed; each once, and no secret."""
    path, prices = tmp_path / "endpoints.json", tmp_path / "prices.json"
    settings.ASSAY_ENDPOINTS, settings.ASSAY_PRICES = str(path), str(prices)
    entry = {"name": "lab", "base_url": "https://me:secret@a.example/v1", "default_model": "m"}
    price = {"model": "m", "endpoint": "lab", "valid_from": "2020-01-01"}
    price |= {"input": "1", "cached": "1", "output": "2"}

    def noted(entries: list[dict[str, Any]], row: dict[str, Any] = price) -> list[Event]:
        for file, rows in ((path, entries), (prices, [row])):
            file.write_text(json.dumps(rows))
            os.utime(file, ns=(next(ticks), next(ticks)))
        last = Event.objects.count()
        note_endpoints()
        note_endpoints()
        return list(Event.objects.order_by("pk")[last:])

    ticks = itertools.count(10**18, 10**9)
    (added,) = noted([entry | {"api_key": "sk-secret"}])
    told = added.verb, added.target_id, added.actor, added.scope
    assert told == ("add endpoint", "lab", None, "")
    assert (added.data["address"], added.data["model"]) == ("https://a.example/v1", "m")
    assert noted([entry]) == []
    (changed,) = noted([entry | {"base_url": "https://b.example/v1"}])
    assert changed.data["address_before"] == "https://a.example/v1"
    assert "model_before" not in changed.data
    (dearer,) = noted([entry | {"base_url": "https://b.example/v1"}], price | {"output": "3"})
    assert dearer.data["usd_per_million_tokens_before"]["output"] == "2"
    assert [each.verb for each in noted([])] == ["remove endpoint"]
    assert [each.verb for each in noted([entry])] == ["add endpoint"]
    assert "secret" not in str(list(Event.objects.values()))
