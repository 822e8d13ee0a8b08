"""Going on from a partial answer: what is built for whom, and for whom nothing is."""

from __future__ import annotations

import pytest

from chunkfold import (
    Choice,
    ReasoningPart,
    RefusalPart,
    Response,
    TextPart,
    ToolCall,
    UnknownDialect,
    UnknownPart,
    dialects,
)
from chunkfold._prefill import Prefill
from chunkfold.errors import CannotContinue


def partial(*parts, dialect=None, model=None, vendor=None):
    choice = Choice(parts=parts or (TextPart("The tide turns "),))
    return Response(choices=(choice,), dialect=dialect, model=model, vendor=vendor, truncated=True, ended="eof")


CLAUDE_45 = [
    "claude-2.1", "claude-instant-1.2", "claude-3-5-sonnet-20241022", "claude-3-haiku-20240307", "claude-opus-4-20250514",
    "claude-opus-4-1-20250805", "claude-sonnet-4-5-20250929", "claude-haiku-4-5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "claude-sonnet-4.5",
]  # fmt: skip
LATER = ["claude-opus-4-6", "claude-sonnet-4-6", "us.anthropic.claude-opus-4-6-v1", "claude-opus-4-7", "claude-sonnet-5",
         "claude-opus-5-20260724", "claude-haiku-5-1"]  # fmt: skip


@pytest.mark.parametrize("model", CLAUDE_45)
@pytest.mark.parametrize("dialect", ["anthropic-messages", "bedrock-converse", "bedrock-invoke"])
def test_claude_goes_on_up_to_4_5(dialect, model):
    built = partial(dialect=dialect, model=model).as_prefill()
    assert built.prefix == "The tide turns"
    assert built.messages[0]["role"] == "assistant"
    assert built.messages[0]["content"][0]["text"] == "The tide turns"
    assert "thinking" in built.note


@pytest.mark.parametrize("model", LATER)
def test_claude_does_not_from_4_6_on(model):
    with pytest.raises(CannotContinue, match=r"from 4\.6 on.*ask=") as caught:
        partial(dialect="anthropic-messages").as_prefill(model=model)
    assert (caught.value.dialect, caught.value.model) == ("anthropic-messages", model)


@pytest.mark.parametrize("model", [None, "claude-fable-9", "claude-mythos-preview", "my-deployment"])
def test_a_model_that_is_not_known_is_not_guessed_at(model):
    with pytest.raises(CannotContinue, match="not known"):
        partial(dialect="anthropic-messages", model=model).as_prefill()


@pytest.mark.parametrize(("model", "goes_on"), [("gemini-2.5-flash", True), ("gemini-3.1-flash-lite", True),
                                                ("models/gemini-1.5-pro", True), ("gemini-3.5-flash-lite", False),
                                                ("gemini-4-pro", False), ("gemini-flash-latest", False)])  # fmt: skip
def test_gemini_goes_on_up_to_3_1(model, goes_on):
    response = partial(dialect="gemini", model=model)
    if goes_on:
        assert response.as_prefill().messages == ({"role": "model", "parts": [{"text": "The tide turns"}]},)
    else:
        with pytest.raises(CannotContinue):
            response.as_prefill()


@pytest.mark.parametrize(
    ("vendor", "message", "body"),
    [
        ("mistral", {"prefix": True}, {}), ("deepseek", {"prefix": True}, {}), ("moonshot", {"partial": True}, {}),
        ("Qwen", {"partial": True}, {}), ("openrouter", {}, {}), ("llamacpp", {}, {}), ("groq", {}, {}),
        ("vllm", {}, {"continue_final_message": True, "add_generation_prompt": False}),
    ],
)  # fmt: skip
def test_vendors_of_openais_dialect_want_it_marked_each_in_its_way(vendor, message, body):
    built = partial(dialect="openai-chat").as_prefill(vendor=vendor)
    assert built.messages == ({"role": "assistant", "content": "The tide turns", **message},)
    assert built.body == body


@pytest.mark.parametrize("vendor", [None, "azure", "cerebras"])
def test_openai_begins_anew_and_the_message_says_so(vendor):
    with pytest.raises(CannotContinue, match=r"begins a new answer.*vllm"):
        partial(dialect="openai-chat", vendor=vendor).as_prefill()


@pytest.mark.parametrize("dialect", ["openai-completions", "tgi", "watsonx"])
def test_where_there_is_a_prompt_the_text_is_its_end_with_all_its_white_space(dialect):
    built = partial(dialect=dialect).as_prefill()
    assert (built.prompt, built.prefix, built.messages) == ("The tide turns ", "The tide turns ", ())
    with pytest.raises(CannotContinue, match="no turns"):
        partial(dialect=dialect).as_prefill(ask="Go on.")


def test_dashscope_marks_the_message():
    built = partial(dialect="dashscope").as_prefill()
    assert built.messages == ({"role": "assistant", "content": "The tide turns", "partial": True},)


@pytest.mark.parametrize("dialect", dialects.names())
def test_every_dialect_goes_on_or_says_why_not_and_most_understand_a_turn_in_words(dialect):
    response = partial(dialect=dialect)
    try:
        assert response.as_prefill(model="claude-sonnet-4-5", vendor="vllm").prefix.startswith("The tide turns")
    except CannotContinue as error:
        assert "ask=" in str(error)
    if dialect not in ("openai-completions", "tgi", "watsonx"):
        built = response.as_prefill(ask="Go on exactly where you broke off.")
        assert len(built.messages) == 2
        assert "broke off" in str(built.messages[1])
        assert built.prefix == "The tide turns "


TURNS = {
    "openai-chat": [{"role": "assistant", "content": "Low"}, {"role": "user", "content": "On."}],
    "mistral-conversations": [{"role": "assistant", "content": "Low"}, {"role": "user", "content": "On."}],
    "openai-responses": [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Low", "annotations": []}],
        },
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "On."}]},
    ],
    # Its input is a list of steps, which have no roles.
    "gemini-interactions": [
        {"type": "model_output", "content": [{"type": "text", "text": "Low"}]},
        {"type": "user_input", "content": [{"type": "text", "text": "On."}]},
    ],
    "vercel-ui": [
        {"role": "assistant", "parts": [{"type": "text", "text": "Low"}]},
        {"role": "user", "parts": [{"type": "text", "text": "On."}]},
    ],
}


@pytest.mark.parametrize("dialect", TURNS)
def test_the_turns_are_written_as_the_dialect_writes_messages(dialect):
    built = partial(TextPart("Low "), dialect=dialect).as_prefill(ask="On.")
    assert list(built.messages) == TURNS[dialect]


def test_what_cannot_be_gone_on_from_is_named():
    call = ToolCall(id="c", name="f", raw_arguments='{"a', status="truncated")
    parts = (ReasoningPart("Hm."), TextPart("First"), TextPart(" this"), call, TextPart("late"))
    built = partial(*parts, dialect="ollama").as_prefill()
    assert built.prefix == "First this"
    assert built.left_out == ("reasoning", "tool_call", "text")


def test_what_a_gateway_says_before_the_answer_ends_nothing():
    routing, block = UnknownPart("gateway.routing", {"tried": 2}), UnknownPart("new_block", {})
    built = partial(routing, TextPart("First"), block, TextPart("late"), dialect="ollama").as_prefill()
    assert (built.prefix, built.left_out) == ("First", ("unknown", "unknown", "text"))


@pytest.mark.parametrize("parts", [(TextPart(""),), (TextPart(" \n"),), (ReasoningPart("Hm."),), (RefusalPart("No"),),
                                   (ToolCall(name="f"), TextPart("late"))])  # fmt: skip
def test_without_text_there_is_nothing_to_go_on_from(parts):
    with pytest.raises(CannotContinue, match="no text"):
        partial(*parts, dialect="ollama").as_prefill()


def test_the_dialect_has_to_be_known():
    with pytest.raises(CannotContinue, match="name it"):
        partial().as_prefill()
    with pytest.raises(UnknownDialect):
        partial().as_prefill("nonsense")
    assert partial().as_prefill("ollama-chat").dialect == "ollama"


def test_a_prefill_is_a_value():
    assert issubclass(CannotContinue, ValueError)
    built = partial(dialect="ollama").as_prefill()
    assert Prefill.from_json(built.to_json()) == built
    assert "tide" not in repr(built)
