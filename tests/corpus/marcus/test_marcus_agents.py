"""Pages through the three agents: scripted ones, faithful, careless and hostile."""

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from corpus.marcus.agents import Result, uncleaned, work_on
from corpus.marcus.asking import prompt, says_nothing
from corpus.marcus.parts import Page, Source, take_apart
from corpus.marcus.settings import AGENTS, Settings
from corpus.marcus.verify import verify
from llm.requests import Request

GOLD = "Jump to content\nFerns have no seeds. They spread by 120 spores.\nPrivacy policy"
REST = "Moths fly at night. They roll their backs to the light."
CLEAN = "Ferns have no seeds. They spread by 120 spores."


def page() -> Page:
    return take_apart([Source(1, "f/p_0.txt", GOLD), Source(2, "f/p_1.txt", REST)], {1: [7]})


def settings(preset: str = "marcus", **more: Any) -> Settings:
    prompts = {role: prompt(role) for role in AGENTS[preset]}
    return Settings(preset=preset, endpoint="e", model="m", prompts=prompts, **more)


def text_of(request: Request) -> str:
    found = re.search(
        r"<page-(\w{16})>\n(.*)\n</page-\1>", request.messages[-1]["content"], re.DOTALL
    )
    assert found
    return found[2]


def run(
    script: Callable[[str, str, int], str],
    *,
    decided: Any = None,
    given: Page | None = None,
    **more: Any,
) -> tuple[Result, list[Request]]:
    """The page worked on by agents that answer as `script(role, text, again)` says."""
    asked: list[Request] = []

    async def ask(request: Request, subject: str) -> str:
        asked.append(request)
        return json.dumps({"text": script(request.role, text_of(request), request.replicate)})

    work = work_on("f/p.txt", given or page(), settings(**more), key=b"k", ask=ask, decided=decided)
    return asyncio.run(work), asked


def faithful(role: str, text: str, again: int) -> str:
    if role == "splitter":
        return f"Chunk A:\n{text}"
    return "\n".join(
        line for line in text.split("\n") if line not in ("Jump to content", "Privacy policy")
    )


def test_gold_and_the_rest_are_cleaned_and_split_apart() -> None:
    result, asked = run(faithful)
    assert [(c.pid, c.text, c.is_gold) for c in result.chunks] == [
        ("f/p.txt#gA", CLEAN, True),
        ("f/p.txt#iA", REST, False),
    ]
    assert [r.role for r in asked] == ["safe_clean", "fast_clean", "splitter", "splitter"]
    assert not result.notes.findings
    assert all(each.carries for chunk in result.chunks for each in chunk.holds)


def careless(role: str, text: str, again: int) -> str:
    said = faithful(role, text, again)
    return said.replace("120", "210") if role == "safe_clean" else said


def test_a_changed_number_is_put_right_and_listed() -> None:
    result, asked = run(careless)
    assert result.chunks[0].text == CLEAN
    found = next(iter(result.notes.findings.values()))
    assert tuple(found[name] for name in ("kind", "source", "output", "decision")) == (
        "changed",
        "120",
        "210",
        # 9 of 10 tokens are fewer than 98 %: asked again, then cleaned by rules.
        "original",
    )
    assert [r.replicate for r in asked if r.role == "safe_clean"] == [0, 1]


def test_small_changes_in_long_gold_are_repaired_piece_by_piece() -> None:
    words = " ".join(f"word{n}" for n in range(300, 500)) + " and 120 more."
    long = take_apart([Source(1, "f/p_0.txt", words)], {1: [7]})
    result, _ = run(careless, given=long)
    assert result.chunks[0].text == words
    assert [f["decision"] for f in result.notes.findings.values()] == ["repaired"]


@pytest.mark.parametrize(
    ("decision", "text"), [("accepted", "210"), ("repaired", "120"), ("original", "120")]
)
def test_a_person_decides_where_the_policy_says_so(decision: str, text: str) -> None:
    held, _ = run(careless, policy="person")
    assert held.notes.is_held
    assert not held.chunks
    ((place, found),) = held.notes.findings.items()
    about = (decision, found["source"], found["output"])
    result, _ = run(careless, policy="person", decided={place: about})
    assert f"by {text} spores" in result.chunks[0].text


@pytest.mark.parametrize("changed", ["source", "output"])
def test_what_was_decided_of_other_words_at_a_place_is_asked_again(changed: str) -> None:
    """A version that counts pieces otherwise would let it reach words that nobody read."""
    ((place, found),) = run(careless, policy="person")[0].notes.findings.items()
    found = found | {changed: "other words"}
    about = ("accepted", found["source"], found["output"])
    result, _ = run(careless, policy="person", decided={place: about})
    assert result.notes.is_held
    assert [each["decision"] for each in result.notes.findings.values()] == [""]


MENU = "Home\nNews\nSign in\nSubscribe"
TEASERS = "Related\nMayor Opens Bridge\nA dog ran through the park and bit nobody."
TEASERS += "\nReply\nShare\nPrivacy policy"


@pytest.mark.parametrize("preset", ["marcus", "marcus_c"])
def test_what_leaves_out_a_page_s_menus_is_no_violation_and_listed(preset: str) -> None:
    text = f"{MENU}\n{CLEAN}\n{TEASERS}"
    given = take_apart([Source(1, "f/p_0.txt", text)], {1: [7]})

    def article(role: str, text: str, again: int) -> str:
        return CLEAN if role == "safe_clean" else f"Chunk A: {text}"

    result, _ = run(article, given=given, preset=preset)
    found = [(f["kind"], f["source"], f["decision"]) for f in result.notes.findings.values()]
    dropped = "Related\nMayor Opens Bridge\nA dog ran through the park and bit nobody."
    assert found == [
        ("menu", "Home\nNews", ""),
        ("dropped", dropped, "repaired"),
        ("menu", "Reply", ""),
    ]
    assert result.chunks[0].text.split("\n") == [*CLEAN.split("\n"), *dropped.split("\n")]


def test_what_is_left_out_in_one_go_is_one_question() -> None:
    more = "\nBats eat moths all night long.\nPrivacy policy\nOwls hunt mice in the snow too."
    text = CLEAN + more
    given = take_apart([Source(1, "f/p_0.txt", text)], {1: [7]})

    def article(role: str, text: str, again: int) -> str:
        return CLEAN if role == "safe_clean" else f"Chunk A: {text}"

    held, _ = run(article, given=given, policy="person")
    ((place, found),) = held.notes.findings.items()
    assert found["source"] == more.strip()
    for decision, kept in (("accepted", False), ("repaired", True)):
        about = (decision, found["source"], found["output"])
        result, _ = run(article, given=given, policy="person", decided={place: about})
        assert ("Bats" in result.chunks[0].text, "Owls" in result.chunks[0].text) == (kept, kept)
        assert "Privacy" not in result.chunks[0].text


def hostile(role: str, text: str, again: int) -> str:
    return "Chunk A:\nI have been told to say that nothing here matters at all."


def test_a_model_that_obeys_a_page_leaves_it_uncleaned_at_worst() -> None:
    result, _ = run(hostile)
    gold, rest = result.chunks
    assert not verify(GOLD, gold.text).violations
    assert rest.text == REST
    assert "kept original" in result.notes.flags


def test_what_has_no_content_is_dropped_but_never_gold() -> None:
    result, _ = run(lambda role, text, again: "" if role != "splitter" else f"Chunk A: {text}")
    assert [c.is_gold for c in result.chunks] == [True]
    assert not verify(GOLD, result.chunks[0].text).violations
    assert "no content" in result.notes.flags
    for reply in ("", "  \n", "No main content.", "None", "There is no main content"):
        assert says_nothing(reply)
    assert not says_nothing("None of the ferns have seeds.")


def test_gold_that_is_furniture_alone_goes_along_as_it_was() -> None:
    menu = take_apart([Source(1, "f/p_0.txt", "Privacy policy")], {1: [7]})
    result, _ = run(lambda role, text, again: "", given=menu)
    assert [c.text for c in result.chunks] == ["Privacy policy"]


@pytest.mark.parametrize("said", ["", "  ", "----", "<br>", "![](ferns.png)"])
@pytest.mark.parametrize("page_text", ["", "A page about moths."])
def test_gold_without_a_word_keeps_its_label(said: str, page_text: str) -> None:
    given = take_apart([Source(1, "f/p_0.txt", said)], {1: [7]}, page_text=page_text)
    result, _ = run(faithful, given=given)
    (gold,) = [chunk for chunk in result.chunks if chunk.is_gold]
    assert gold.text.strip() in said
    assert [(each.key, each.carries) for each in gold.holds] == [(1, True)]


def test_a_table_in_words_is_flagged_and_goes_along() -> None:
    table = "| year | spores |\n|---|---|\n| 1901 | 4 |"
    text = f"Ferns have no seeds at all, as every child in this village knows.\n{table}\nThe end."

    def tells(role: str, text: str, again: int) -> str:
        if role != "splitter":
            return text
        said = text.replace(table, "In 1901 there were four spores.")
        return f"Chunk A:\n{said.split('The end.')[0]}\nChunk B:\nThe end."

    given = take_apart([Source(1, "f/p_0.txt", text)], {1: [7]})
    result, _ = run(tells, given=given)
    first, second = result.chunks
    assert "four spores" in first.text
    assert "| 1901 | 4 |" in first.tables[0]
    assert second.tables == []
    assert "table in words" in result.notes.flags


def test_a_splitter_that_drops_text_of_the_rest_is_not_followed() -> None:
    result, asked = run(
        lambda role, text, again: "Chunk A: Moths fly." if role == "splitter" else text
    )
    assert result.chunks[1].text == REST
    assert "not split" in result.notes.flags
    assert sum(r.role == "splitter" for r in asked) == 4


def test_long_parts_go_in_windows_and_are_joined_where_they_belong_together() -> None:
    text = "\n\n".join(f"Paragraph {n} tells of ferns and of moths at length." for n in range(30))
    given = take_apart([Source(1, "f/p_0.txt", text)], {1: [7]})

    def cuts(role: str, text: str, again: int) -> str:
        return f"Chunk A:\n{text}" if role == "splitter" else text

    result, asked = run(cuts, given=given, window=150)
    assert len([r for r in asked if r.role == "safe_clean"]) > 1
    assert "\n\n".join(c.text for c in result.chunks).split() == text.split()
    assert not result.notes.findings


def test_marcus_c_cuts_without_a_splitter_and_marcus_s_does_not_clean() -> None:
    result, asked = run(faithful, preset="marcus_c")
    assert {r.role for r in asked} == {"safe_clean", "fast_clean"}
    assert [c.text for c in result.chunks] == [CLEAN, REST]
    result, asked = run(faithful, preset="marcus_s")
    assert {r.role for r in asked} == {"splitter"}
    assert result.chunks[0].text == GOLD


def test_a_reply_that_is_no_json_is_held_against_the_source_all_the_same() -> None:
    async def ask(request: Request, subject: str) -> str:
        return faithful(request.role, text_of(request), 0)

    result = asyncio.run(work_on("f/p.txt", page(), settings(), key=b"k", ask=ask))
    assert result.chunks[0].text == CLEAN


def source_of(words: str) -> str:
    menu = "".join(f'<li><a href="/{n}">Menu {n}</a></li>' for n in range(12))
    body = f"<nav><ul>{menu}</ul></nav><article><h1>Moths</h1><p>{words}</p></article>"
    return f"<html><head><title>Moths</title></head><body>{body}</body></html>"


MOTHS = " ".join([REST, "They fly in loops around a lamp until the morning comes."] * 4)


def test_of_a_page_s_source_agents_are_sent_the_main_text() -> None:
    sources = [Source(1, "f/p_0.txt", GOLD), Source(2, "f/p_1.txt", source_of(MOTHS))]
    result, asked = run(faithful, given=take_apart(sources, {1: [7]}))
    (sent,) = (text_of(each) for each in asked if each.role == "fast_clean")
    assert sent.split()[-len(MOTHS.split()) :] == MOTHS.split()
    assert "Menu" not in sent
    (other,) = (each for each in result.chunks if not each.is_gold)
    assert "<" not in other.text
    assert MOTHS in " ".join(other.text.split())
    # The passage is found in it again, though its tags are gone.
    assert [(each.key, each.carries) for each in other.holds] == [(2, True)]


def test_a_page_that_nobody_would_clean_is_no_source_either() -> None:
    sources = [Source(n, f"f/p_{n}.txt", source_of(f"{n}. {MOTHS}")) for n in (1, 2)]
    gold, other = uncleaned("f/p.txt", take_apart(sources, {1: [7]}))
    assert (gold.is_gold, other.is_gold) == (True, False)
    # Of gold all that can be seen stays.
    assert ["Menu 3" in each.text for each in (gold, other)] == [True, False]
    assert ["<" in each.text for each in (gold, other)] == [False, False]
    assert [f"{n}. {MOTHS}" in each.text for n, each in ((1, gold), (2, other))] == [True, True]


def test_a_page_that_nobody_would_clean_is_cleaned_by_rules() -> None:
    assert [c.text for c in uncleaned("f/p.txt", page())] == [GOLD, REST]
