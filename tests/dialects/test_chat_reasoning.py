"""Reasoning in chat: of each choice, and what only the message that is told again says of it, such as signatures."""

from __future__ import annotations

import pytest

import chunkfold
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(delta, **choice):
    choice = {"index": 0, "delta": delta, "finish_reason": None, **choice}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def whole(**message):
    return chunk({}, message={"role": "assistant", "content": "It is.", **message}, finish_reason="stop")


TEXT = {"type": "reasoning.text", "format": "f", "index": 0}
ANSWER = chunk({"content": "It is."})
SIGNED = {**TEXT, "text": "Is it?", "signature": "S"}
ENCRYPTED = {"type": "reasoning.encrypted", "data": "E", "format": "f", "index": 1}


@pytest.mark.parametrize(
    ("frames", "details"),
    [
        ([ANSWER, whole(reasoning_details=[ENCRYPTED])], [ENCRYPTED]),
        ([ANSWER, whole(reasoning="Is it?", reasoning_details=[SIGNED, ENCRYPTED])], [SIGNED, ENCRYPTED]),
        ([ANSWER, whole(reasoning_details=[SIGNED])], [SIGNED]),
        (
            [chunk({"reasoning": "Is it?"}), ANSWER, whole(reasoning="Is it?", reasoning_details=[SIGNED, ENCRYPTED])],
            [SIGNED, ENCRYPTED],
        ),
        (
            [chunk({"reasoning_details": [{**TEXT, "text": "Is it?"}]}), ANSWER, whole(reasoning_details=[SIGNED])],
            [SIGNED],
        ),
        (
            [chunk({"reasoning_details": [SIGNED]}), ANSWER, whole(reasoning_details=[SIGNED, ENCRYPTED])],
            [SIGNED, ENCRYPTED],
        ),
        (
            [chunk({"reasoning_details": [SIGNED, ENCRYPTED]}), ANSWER, whole(reasoning_details=[SIGNED, ENCRYPTED])],
            [SIGNED, ENCRYPTED],
        ),
    ],
)
def test_a_message_that_is_told_again_has_the_signatures(frames, details):
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    thought = [part for part in response.parts if part.kind == "reasoning"]
    assert [(part.text, part.signature, part.encrypted) for part in thought] == [
        (made.get("text", ""), made.get("signature"), made.get("data")) for made in details
    ]
    assert response.to_native()["choices"][0]["message"]["reasoning_details"] == details
    assert response.text == "It is."


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize(
    ("last", "detail"),
    [
        ({"text": "it?", "signature": None, "id": None}, {"text": "Is it?", "signature": None, "id": None}),
        ({"text": "", "signature": "S", "id": None}, {"text": "Is ", "signature": "S", "id": None}),
    ],
)
def test_a_field_that_says_nothing_and_comes_late_is_in_the_detail(plain, last, detail):
    """As `null`, where whole bodies have it, unless it gets a value."""
    pieces = [{"text": "Is "}, last, {"text": "", "signature": None}]
    deltas = [{"reasoning_details": [{**TEXT, **piece}]} for piece in pieces]
    if plain:
        deltas = [{"reasoning": piece["text"], **delta} for piece, delta in zip(pieces, deltas, strict=True)]
    frames = [*map(chunk, deltas), ANSWER]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.to_native()["choices"][0]["message"]["reasoning_details"] == [{**TEXT, **detail}]


def test_a_message_that_is_told_again_has_the_tools_that_were_run():
    tools = [{"index": 0, "type": "search", "arguments": "{}", "output": "found"}]
    frames = [ANSWER, whole(executed_tools=tools)]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.to_native()["choices"][0]["message"]["executed_tools"] == tools


@pytest.mark.parametrize("blank", [{"text": ""}, {"text": "", "signature": None}, {"text": None, "signature": ""}])
def test_a_detail_that_was_opened_blank_has_its_text_under_every_name_that_comes(blank):
    frames = [
        chunk({"content": "", "reasoning": "", "reasoning_details": [{**TEXT, **blank}]}),
        chunk({"content": "", "reasoning": "Is ", "reasoning_details": [{**TEXT, "text": "Is "}]}),
        chunk({"content": "", "reasoning": "it?", "reasoning_details": [{**TEXT, "text": "it?"}]}),
        chunk({"content": "", "reasoning": None, "reasoning_details": [{**TEXT, "text": "", "signature": "S"}]}),
        ANSWER,
        chunk({}, finish_reason="stop"),
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(part.text, part.signature) for part in response.parts] == [("Is it?", "S"), ("It is.", None)]
    message = response.to_native()["choices"][0]["message"]
    assert (message["reasoning"], message["reasoning_details"]) == ("Is it?", [SIGNED])


def test_azure_tells_its_reasoning_in_pieces_and_names_it_at_the_end():
    frames = [
        chunk({"cot_summary": " "}),
        chunk({"cot_summary": "Analy"}),
        chunk({"cot_summary": "zing"}),
        ANSWER,
        chunk({}, finish_reason="stop"),
        chunk({"cot_id": "cot_1"}),
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert_templates_change_nothing(frames, "openai-chat")
    assert (response.reasoning, response.text) == (" Analyzing", "It is.")
    message = response.to_native()["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "It is.", "cot_summary": " Analyzing", "cot_id": "cot_1"}


OPAQUE = {"reasoning_opaque": "OP"}


@pytest.mark.parametrize(
    ("frames", "parts"),
    [
        ([chunk({"reasoning_text": "Is it?"}), chunk(OPAQUE), ANSWER], [("Is it?", "OP"), ("It is.", None)]),
        (
            [chunk({"reasoning_text": "Is it?"}), chunk({"content": "It is.", **OPAQUE})],
            [("Is it?", "OP"), ("It is.", None)],
        ),
        ([chunk({"content": "It ", **OPAQUE}), chunk({"content": "is."})], [("", "OP"), ("It is.", None)]),
        ([ANSWER, chunk(OPAQUE)], [("It is.", None), ("", "OP")]),
    ],
)
def test_what_copilot_wants_back_goes_back(frames, parts):
    frames = [*frames, chunk({}, finish_reason="stop")]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert_templates_change_nothing(frames, "openai-chat")
    assert [(part.text, getattr(part, "encrypted", None)) for part in response.parts] == parts
    assert response.text == "It is."
    for message in (response.to_native()["choices"][0]["message"], response.message.to_request("openai-chat")):
        assert (message["content"], message["reasoning_opaque"]) == ("It is.", "OP")
    assert "OP" not in str(response.message.to_request("anthropic"))


@pytest.mark.parametrize("name", ["delta", "message"])
def test_each_choice_of_a_payload_has_its_own_reasoning(name):
    choices = [
        {"index": at, name: {"role": "assistant", "reasoning_content": f"Thought {at}.", "content": f"Said {at}."}}
        for at in range(2)
    ]
    frames = [sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": choices})]
    response = assert_laws(frames[0], frames, "openai-chat")
    assert [(choice.reasoning, choice.text) for choice in response.choices] == [
        ("Thought 0.", "Said 0."),
        ("Thought 1.", "Said 1."),
    ]


def item(number, **fields):
    return {"type": "reasoning", "id": f"rs_{number}", "encrypted_content": f"ENC{number}", "summary": [], **fields}


ITEMS = {"content": "", "reasoning_items": [item(1), item(2)]}


@pytest.mark.parametrize(
    ("frames", "parts"),
    [
        ([ANSWER, chunk(ITEMS)], [("It is.", None), ("", "ENC1"), ("", "ENC2")]),
        (
            [chunk({"reasoning_content": "Is it?"}), ANSWER, chunk(ITEMS)],
            [("Is it?", "ENC1"), ("It is.", None), ("", "ENC2")],
        ),
        (
            [chunk({"reasoning_content": "Is it?"}), chunk({"reasoning_items": [item(1)]}), ANSWER, chunk(ITEMS)],
            [("Is it?", "ENC1"), ("It is.", None), ("", "ENC2")],
        ),
        (
            [ANSWER, chunk({"reasoning_items": [item(1)]}), chunk({"reasoning_items": [item(2)]})],
            [("It is.", None), ("", "ENC1"), ("", "ENC2")],
        ),
    ],
)
def test_items_that_litellm_wants_back_go_back(frames, parts):
    frames = [*frames, chunk({}, finish_reason="stop")]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert_templates_change_nothing(frames, "openai-chat")
    assert [(part.text, getattr(part, "encrypted", None)) for part in response.parts] == parts
    assert response.text == "It is."
    native = response.to_native()
    for message in (native["choices"][0]["message"], response.message.to_request("openai-chat")):
        assert (message["content"], message["reasoning_items"]) == ("It is.", [item(1), item(2)])
        assert ("reasoning_content" in message) == bool(response.reasoning)
    assert "ENC" not in str(response.message.to_request("anthropic"))
    whole = chunkfold.Response.from_native(native)
    assert (whole.to_native(), whole.message.to_request("openai-chat")) == (
        native,
        response.message.to_request("openai-chat"),
    )


def test_items_that_a_whole_message_tells_again_are_taken_once():
    told = whole(reasoning_content="Is it?", reasoning_items=ITEMS["reasoning_items"])
    frames = [chunk({"reasoning_content": "Is it?"}), ANSWER, chunk(ITEMS), told]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert (response.reasoning, response.text) == ("Is it?", "It is.")
    assert response.message.to_request("openai-chat")["reasoning_items"] == [item(1), item(2)]


def test_a_signature_that_is_no_text_is_kept_as_it_came():
    frames = [chunk({"reasoning_content": "Is it?", "reasoning_signature": 7}), ANSWER]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert (response.reasoning, response.parts[0].signature) == ("Is it?", None)
    assert response.to_native()["choices"][0]["message"]["reasoning_signature"] == 7


SIGNATURE = {"reasoning_signature": "SIG"}
OF_ANTHROPIC = {"extra_content": {"anthropic": {"signature": "SIG"}}}
THOUGHT = chunk({"reasoning_content": "Is it?"})


@pytest.mark.parametrize(
    ("frames", "parts"),
    [
        ([THOUGHT, chunk(SIGNATURE), ANSWER], [("Is it?", "SIG"), ("It is.", None)]),
        ([THOUGHT, chunk({"content": "It is.", **SIGNATURE})], [("Is it?", "SIG"), ("It is.", None)]),
        ([chunk({"reasoning_content": "", **SIGNATURE}), ANSWER], [("", "SIG"), ("It is.", None)]),
        ([THOUGHT, ANSWER, whole(**SIGNATURE)], [("Is it?", "SIG"), ("It is.", None)]),
        ([THOUGHT, chunk(OF_ANTHROPIC), ANSWER], [("Is it?", "SIG"), ("It is.", None)]),
        ([THOUGHT, ANSWER, chunk(OF_ANTHROPIC)], [("Is it?", "SIG"), ("It is.", None)]),
    ],
)
def test_a_signature_beside_the_reasoning_is_that_of_it_and_goes_back(frames, parts):
    frames = [*frames, chunk({}, finish_reason="stop")]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert_templates_change_nothing(frames, "openai-chat")
    assert [(part.text, part.signature) for part in response.parts] == parts
    native = response.to_native()
    request = response.message.to_request("openai-chat")
    for message in (native["choices"][0]["message"], request):
        assert (SIGNATURE.items() <= message.items()) != (OF_ANTHROPIC.items() <= message.items())
    assert "SIG" not in str(response.message.to_request("anthropic"))
    assert chunkfold.Response.from_native(native).message.to_request("openai-chat") == request


def test_each_detail_of_a_message_that_is_told_again_keeps_its_text():
    frames = [ANSWER, whole(reasoning_details=[SIGNED, {**TEXT, "index": 1, "text": " It is."}])]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(part.text, part.signature) for part in response.parts[1:]] == [("Is it?", "S"), (" It is.", None)]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_reasoning_stays_under_its_name_where_a_message_has_only_its_details(field):
    frames = [chunk({field: "Is it?"}), ANSWER, whole(reasoning_details=[SIGNED])]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    message = response.to_native()["choices"][0]["message"]
    assert message[field] == "Is it?"
    assert message["reasoning_details"][0]["signature"] == "S"


def test_the_signature_of_a_detail_is_that_of_an_item_with_the_same_text():
    item = {"type": "thinking", "thinking": [{"type": "text", "text": "Is it?"}]}
    frames = [chunk({"content": [item]}), ANSWER, whole(reasoning_details=[SIGNED])]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.parts[0].signature == "S"
    made = response.to_native()["choices"][0]["message"]["content"][0]
    assert made["thinking"][0]["text"] == "Is it?"


def test_details_without_an_index_and_an_id_are_as_many_as_are_listed():
    """Helicone tells each block of Anthropic's thinking once more at the end, with its signature."""
    details = [{"thinking": "Is it?", "signature": "S1"}, {"thinking": "Yes.", "signature": "S2"}]
    frames = [chunk({"reasoning": "Is it?"}), chunk({"reasoning": "Yes."}), ANSWER]
    frames.append(chunk({"reasoning_details": details}, finish_reason="stop"))
    response = assert_laws(b"".join(frames), frames)
    assert (response.reasoning, response.text) == ("Is it?Yes.", "It is.")
    assert [part.signature for part in response.parts if part.kind == "reasoning"] == [None, "S1", "S2"]
    message = {"role": "assistant", "content": "It is.", "reasoning": "Is it?Yes.", "reasoning_details": details}
    assert response.to_native()["choices"][0]["message"] == message
    assert response.message.to_request("openai-chat") == message


def perplexity(object_, **choice):
    top = {"id": "c", "model": "sonar-pro", "created": 7, "object": object_, "type": "message"}
    return sse({**top, "choices": [{"index": 0, "finish_reason": None, **choice}]})


SEARCH = {
    "thought": "Searching.",
    "type": "web_search",
    "web_search": {"search_keywords": ["tea"], "search_results": []},
}
FETCH = {"thought": "Reading.", "type": "fetch_url_content", "fetch_url_content": {"contents": [{"url": "u"}]}}
EMPTY = {"role": "assistant", "content": ""}


def steps(*said):
    return {**EMPTY, "reasoning_steps": list(said)}


@pytest.mark.parametrize(
    "frames",
    [
        # In pieces and whole, as `stream_mode: concise` has them.
        [
            perplexity("chat.reasoning", message=EMPTY, delta=steps(SEARCH)),
            perplexity("chat.reasoning", message=EMPTY, delta=steps(FETCH)),
            perplexity("chat.reasoning.done", message=steps(SEARCH, FETCH), delta=EMPTY),
            perplexity("chat.completion.chunk", message=EMPTY, delta={**EMPTY, "content": "Tea."}),
            perplexity("chat.completion.done", message={**steps(SEARCH, FETCH), "content": "Tea."}, delta=EMPTY),
        ],
        # Those so far beside the whole text so far.
        [
            perplexity("chat.completion.chunk", message=steps(SEARCH), delta=EMPTY),
            perplexity("chat.completion.chunk", message=steps(SEARCH, FETCH), delta=EMPTY),
            perplexity("chat.completion.chunk", message={**steps(SEARCH, FETCH), "content": "Tea."}, delta={"content": "Tea."}),
        ],
        # Whole, with the text beside the list alone.
        [perplexity("chat.completion.chunk", message={**steps(SEARCH, FETCH), "content": "Tea."}, delta={"content": "Tea."})],
    ],
)  # fmt: skip
def test_the_steps_of_a_search_are_reasoning_each_once(frames):
    """Perplexity's pro search. No request takes them back."""
    response = assert_laws(b"".join(frames), frames)
    assert_templates_change_nothing(frames)
    assert (response.reasoning, response.text) == ("Searching.\n\nReading.", "Tea.")
    assert [part.kind for part in response.parts] == ["reasoning", "reasoning", "text"]
    message = response.to_native()["choices"][0]["message"]
    assert message == {**steps(SEARCH, FETCH), "content": "Tea."}
    assert response.message.to_request("openai-chat") == {"role": "assistant", "content": "Tea."}


def test_a_whole_body_with_steps_comes_back_as_it_was():
    message = {**steps(SEARCH, {**FETCH, "thought": ""}, {"type": "other"}), "content": "Tea."}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert chunkfold.Response.from_native(body).to_native() == body


def mirrored(content, reasoning):
    return chunk({"content": content, "reasoning_content": reasoning})


@pytest.mark.parametrize(
    ("frames", "text", "reasoning"),
    [
        ([mirrored("<think>pl", "pl"), mirrored("an</think>x", "an")], "x", "plan"),
        ([mirrored("<think>\npl", "pl"), mirrored("an", "an"), mirrored("\n</think>\nx", None)], "\nx", "plan"),
        ([mirrored("<think>plan</think>x", "plan")], "x", "plan"),
        ([mirrored("x<think>plan</think>y", "other")], "xy", "otherplan"),
        ([mirrored("<think>pl", "other"), mirrored("an</think>x", None)], "x", "otherplan"),
        ([mirrored("<think>pl", "pl"), mirrored("pl", None), mirrored("</think>x", "")], "x", "plpl"),
        ([mirrored("<think>pl", ""), mirrored("an</think>x", "")], "x", "plan"),
    ],
)
def test_thinking_that_is_in_the_content_and_beside_it_is_told_once(frames, text, reasoning):
    """MiniMax, if it is not asked to split it (can1357/oh-my-pi#2433)."""
    response = assert_laws(b"".join(frames), frames, "openai-chat", split_think_tags=True)
    assert (response.text, response.reasoning) == (text, reasoning)
    untouched = chunkfold.fold(b"".join(frames))
    assert "<think>" in untouched.text


def test_thinking_that_a_final_message_has_twice_is_told_once():
    frames = [mirrored("<think>pl", "pl"), whole(content="<think>plan</think>x", reasoning_content="plan")]
    response = assert_laws(b"".join(frames), frames, "openai-chat", split_think_tags=True)
    assert (response.text, response.reasoning) == ("x", "plan")


def test_thinking_that_is_in_two_details_and_between_tags_is_told_once():
    details = [{"type": "reasoning.text", "text": text, "index": 0} for text in ("pl", "an")]
    frames = [
        chunk({"content": "<think>pl", "reasoning_details": details[:1]}),
        chunk({"content": "an</think>x", "reasoning_details": details[1:]}),
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat", split_think_tags=True)
    assert (response.text, response.reasoning) == ("x", "plan")
