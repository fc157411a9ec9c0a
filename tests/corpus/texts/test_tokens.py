"""Tokenizers by name: what is always here, and those of packages that may not be."""

import base64
import importlib
import json
import sys
from importlib.util import find_spec

import pytest

from corpus.texts import tokens
from corpus.texts.tokens import CHARACTERS, WORDS, check, cut, names, token_count
from kit.errors import Refused

needs_tiktoken = pytest.mark.skipif(not find_spec("tiktoken"), reason="optional package")
needs_tokenizers = pytest.mark.skipif(not find_spec("tokenizers"), reason="optional package")
# Words of a tiny vocabulary; ## goes on with a word.
VOCABULARY = ["[UNK]", "gar", "##den", "soil", "is", "wet", "ü"]


@pytest.fixture
def folder(tmp_path, settings):
    settings.ASSAY_TOKENIZERS = str(tmp_path)
    made = {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst",
                       "stride": 0},
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {word: n for n, word in enumerate(VOCABULARY)}},
    }  # fmt: skip
    (tmp_path / "tiny.json").write_text(json.dumps(made))
    (tmp_path / "broken.json").write_text("{")
    tokens._tokenizer.cache_clear()
    return tmp_path


@pytest.mark.parametrize(
    ("tokenizer", "most", "kept"),
    [
        (CHARACTERS, 2, "one  two"),
        (CHARACTERS, 0, ""),
        (CHARACTERS, -1, ""),
        (WORDS, 0, ""),
        (WORDS, 2, "one  two"),
        (WORDS, 3, "one  two three "),
    ],
)
def test_two_are_always_here(tokenizer, most, kept) -> None:
    assert cut("one  two three ", most, tokenizer) == kept
    assert {CHARACTERS, WORDS} <= {*names()}
    assert token_count("one  two three ", WORDS) == 3
    assert token_count("12345", CHARACTERS) == 2


@pytest.mark.parametrize("name", ["gpt", "", "tiktoken", "tiktoken:", "tokenizers:", "words:x"])
def test_another_name_is_refused(name) -> None:
    with pytest.raises(Refused, match="There is no tokenizer") as refused:
        check(name)
    assert refused.value.field == "tokenizer"


@pytest.mark.parametrize(
    ("name", "package"), [("tiktoken:gpt2", "tiktoken"), ("tokenizers:tiny", "tokenizers")]
)
def test_a_package_that_is_absent_is_named(name, package, folder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as where it is not installed
    tokens._tiktoken.cache_clear()
    with pytest.raises(Refused, match=f"{name} cannot be used.*pip install {package}"):
        check(name)


@needs_tokenizers
def test_a_model_s_own_file_cuts_where_its_tokens_end(folder) -> None:
    name = "tokenizers:tiny"
    assert name in names()
    # gar ##den is wet soil: the file's own cut to two does not count.
    assert token_count("garden is  wet soil", name) == 5
    assert [cut("garden is  wet soil", n, name) for n in range(6)] == [
        *("", "gar", "garden", "garden is", "garden is  wet", "garden is  wet soil"),
    ]
    assert cut("", 3, name) == ""


@needs_tokenizers
def test_a_file_is_named_within_its_folder_and_must_be_one(folder, settings) -> None:
    (folder.parent / "outside.json").write_text((folder / "tiny.json").read_text())
    for which, words in (
        ("../outside", "is not in the folder"),
        (str(folder / "tiny"), "is not in the folder"),
        ("other", "other.json is not in the folder ASSAY_TOKENIZERS"),
        ("broken", "its file could not be read"),
    ):
        with pytest.raises(Refused, match=words):
            check(f"tokenizers:{which}")
    settings.ASSAY_TOKENIZERS = ""
    with pytest.raises(Refused, match="ASSAY_TOKENIZERS names no folder"):
        check("tokenizers:tiny")


@needs_tiktoken
def test_tiktoken_cuts_between_characters_and_says_what_it_lacks(tmp_path, monkeypatch) -> None:
    import tiktoken
    from tiktoken import registry

    # All bytes, "ab" and " c": no file of OpenAI's is at hand without a network.
    known = [bytes([n]) for n in range(256)] + [b"ab", b" c"]
    path = tmp_path / "tiny.tiktoken"
    path.write_text(
        "".join(f"{base64.b64encode(each).decode()} {n}\n" for n, each in enumerate(known))
    )

    def tiny() -> dict:
        ranks = tiktoken.load.load_tiktoken_bpe(str(path))
        pattern = r" ?\w+|\s+|[^\w\s]+"
        return {"name": "tiny", "pat_str": pattern, "mergeable_ranks": ranks,
                "special_tokens": {"<|end|>": 258}}  # fmt: skip

    def away() -> dict:
        raise ConnectionError("no network\nat all")

    importlib.import_module("tiktoken.load")
    registry.list_encoding_names()
    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "tiny", tiny)
    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "away", away)
    tokens._tiktoken.cache_clear()
    name = "tiktoken:tiny"
    assert name in names()
    assert token_count("ab c", name) == 2
    assert [cut("ab c", n, name) for n in range(3)] == ["", "ab", "ab c"]
    # ü is two tokens: with one of them it is left out.
    assert token_count("abü", name) == 3
    assert [cut("abü", n, name) for n in (1, 2, 3)] == ["ab", "ab", "abü"]
    # What stands for an end is text as any.
    assert cut("<|end|>", 100, name) == "<|end|>"
    with pytest.raises(Refused, match=r"could not be read .no network.*TIKTOKEN_CACHE_DIR"):
        check("tiktoken:away")
    with pytest.raises(Refused, match=r"tiktoken has the encodings .*tiny"):
        check("tiktoken:none")
