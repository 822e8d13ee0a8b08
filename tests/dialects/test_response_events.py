"""
Events of `openai-responses` as servers and gateways send them beside the manual: under other names, without the indexes
of parts, or with the same index for all.
"""

from __future__ import annotations

import tracemalloc

import pytest

import chunkfold
from tests.dialects.test_response_calls import added, completed, done, event, part_at, text_at, texts
from tests.laws import assert_laws
from tests.streams import sse


def fold(*frames):
    return assert_laws(b"".join(frames), [*frames], "openai-responses")


def summary(*said):
    parts = [{"type": "summary_text", "text": text} for text in said]
    return {"id": "rs_1", "type": "reasoning", "summary": parts}


def summary_part(text, **place):
    def told(kind, **fields):
        return event(kind, item_id="rs_1", output_index=0, **place, **fields)

    return [
        told("reasoning_summary_part.added", part={"type": "summary_text", "text": ""}),
        told("reasoning_summary_text.delta", delta=text[:1]),
        told("reasoning_summary_text.delta", delta=text[1:]),
        told("reasoning_summary_text.done", text=text),
        told("reasoning_summary_part.done", part={"type": "summary_text", "text": text}),
    ]


@pytest.mark.parametrize("listed", [["First.", "Second.", "Third."], ["Second.", "Third."], []])
@pytest.mark.parametrize("place", [{}, {"summary_index": 0}])
def test_parts_of_a_summary_that_all_have_one_index_are_parts_each(place, listed):
    """Back ends like GitHub Copilot's leave the index out: no part may take the place of the one before."""
    parts = [frame for text in ("First.", "Second.", "Third.") for frame in summary_part(text, **place)]
    closing = [done(summary(*listed), output_index=0), completed(summary(*listed))]
    response = fold(added(summary(), output_index=0), *parts, *closing)
    assert [part.text for part in response.parts] == ["First.", "Second.", "Third."]
    assert response.reasoning == "First.\n\nSecond.\n\nThird."
    (item,) = response.to_native()["output"]
    assert item["summary"] == summary("First.", "Second.", "Third.")["summary"]


def test_parts_of_a_message_that_all_have_one_index_are_parts_each():
    def part_done(text):
        part = texts(text)["content"][0]
        return event("content_part.done", item_id="msg_1", output_index=0, content_index=0, part=part)

    parts = [frame for text in ("A", "B") for frame in (part_at(0), text_at(0, text), part_done(text))]
    response = fold(added(texts(), output_index=0), *parts, done(texts("A", "B"), output_index=0), completed())
    assert [part.text for part in response.parts] == ["A", "B"]
    assert response.to_native()["output"] == [texts("A", "B")]


def test_messages_without_ids_at_one_index_are_messages_each():
    def message(text=None):
        content = [] if text is None else texts(text)["content"]
        return {"type": "message", "role": "assistant", "content": content}

    def told(text):
        more = event("output_text.delta", output_index=0, content_index=0, delta=text)
        return [added(message(), output_index=0), more, done(message(text), output_index=0)]

    response = fold(*told("A"), *told("B"), completed(message("A"), message("B")))
    assert [part.text for part in response.parts] == ["A", "B"]
    assert response.to_native()["output"] == [message("A"), message("B")]


def test_a_part_whose_start_comes_again_by_its_number_is_one_part():
    """A stream that is taken up again tells some events twice."""
    told = [
        ("content_part.added", {"part": {"type": "output_text", "text": ""}}),
        ("output_text.delta", {"delta": "A"}),
        ("output_text.done", {"text": "A"}),
        ("content_part.done", {"part": {"type": "output_text", "text": "A"}}),
    ]
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    frames = [event(kind, sequence_number=at, **place, **fields) for at, (kind, fields) in enumerate(told)]
    response = fold(*frames, *frames, completed())
    assert [part.text for part in response.parts] == ["A"]


@pytest.mark.parametrize("kind", ["keepalive", "error"])
def test_a_sign_of_life_or_an_error_without_a_number_of_its_own_hides_no_repeat(kind):
    piece = text_at(0, "A").replace(b'"delta"', b'"sequence_number": 2, "delta"')
    start = event("in_progress", sequence_number=1, response={"id": "resp_1"})
    beside = sse({"type": kind, "sequence_number": 0, **({"message": "no"} if kind == "error" else {})}, kind)
    assert fold(start, piece, beside, piece).text == "A"


def test_numbers_with_wide_gaps_between_them_take_no_memory():
    """Each gap took four bytes a number left out: a megabyte of such events half a gigabyte."""
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    frames = [event("output_text.delta", sequence_number=at * 9_000, delta="x", **place) for at in range(100)]
    chunkfold.fold(iter(frames))
    tracemalloc.start()
    try:
        assert chunkfold.fold(iter(frames)).text == "x" * 100
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_a_message_that_counts_its_parts_from_one_keeps_what_it_lists():
    """As vLLM does, which goes on with the count of the item before."""
    response = fold(text_at(1, "A"), done(texts("A", "B"), output_index=0), completed(texts("A", "B", "C")))
    assert [part.text for part in response.parts] == ["A", "B", "C"]


CITATION = {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}


def test_a_citation_under_the_older_name_is_one():
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0, "annotation_index": 0}
    response = fold(text_at(0, "A"), event("output_text_annotation.added", annotation=CITATION, **place), completed())
    assert [part.kind for part in response.parts] == ["text"]
    assert response.annotations == (CITATION,)


@pytest.mark.parametrize(
    ("stem", "verbs", "item", "field", "said"),
    [
        ("mcp_call", ("arguments_delta", "arguments_done"), "mcp_call", "arguments", '{"a":1}'),
        ("mcp_call.arguments", ("delta", "done"), "mcp_call", "arguments", '{"a":1}'),
        ("function_call.arguments", ("delta", "done"), "function_call", "arguments", '{"a":1}'),
        ("code_interpreter_call.code", ("delta", "done"), "code_interpreter_call", "code", "x = 1"),
    ],
)
def test_inputs_under_older_names_are_inputs(stem, verbs, item, field, said):
    place = {"item_id": "i_1", "output_index": 0}
    start = {"type": item, "id": "i_1", "name": "f", "call_id": "call_1", field: ""}
    pieces = [event(f"{stem}.{verbs[0]}", delta=piece, **place) for piece in (said[:3], said[3:])]
    response = fold(
        added(start, output_index=0), *pieces, event(f"{stem}.{verbs[1]}", **{field: said}, **place), completed()
    )
    (call,) = response.parts
    assert call.status == "complete"
    assert call.arguments == ({"code": said} if field == "code" else {"a": 1})


@pytest.mark.parametrize("stem", ["reasoning", "reasoning_content", "reasoning_summary", "reasoning_summary.text"])
def test_reasoning_under_older_names_is_reasoning(stem):
    frames = [event(f"{stem}.delta", output_index=0, delta=piece) for piece in ("Hm", "m.")]
    response = fold(*frames, event(f"{stem}.done", output_index=0, text="Hmm."), completed())
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hmm.")]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"message": "full"}, (None, None, "full", None)),
        ({"code": "context_length_exceeded"}, (None, "context_length_exceeded", None, 400)),
        ({"error": {"code": 429}}, (None, 429, None, 429)),
        ({"error": {"type": "server_error", "message": "boom"}}, ("server_error", None, "boom", 500)),
        (
            {"response": {"error": {"code": "no_model", "message": "gone"}}, "status": 503},
            (None, "no_model", "gone", 503),
        ),
    ],
)
@pytest.mark.parametrize("kind", ["error", "response.error"])
def test_an_error_event_may_have_either_name_and_any_form(kind, fields, told):
    payload = {"type": kind, **fields}
    response = fold(text_at(0, "A"), sse(payload, kind))
    error = response.error
    assert (error.type, error.code, error.message, error.status) == told
    assert error.raw == payload
    assert [part.text for part in response.parts] == ["A"]
    assert not response.truncated


def test_cancelled_may_be_spelled_the_american_way():
    response = fold(text_at(0, "A"), event("canceled", response={"id": "resp_1", "status": "canceled"}))
    assert (response.finish_reason, response.native_finish_reason) == ("cancelled", "canceled")
    assert (response.truncated, response.to_native()["status"]) == (False, "canceled")


@pytest.mark.parametrize("again", [{}, {"response": {"id": "resp_1"}}, {"response": {"id": "resp_1", "output": []}}])
@pytest.mark.parametrize(
    ("end", "reason", "native"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "length",
            "max_output_tokens",
        ),
        ({"status": "failed", "error": {"code": "server_error", "message": "m"}}, "error", "failed"),
        ({"status": "completed"}, "stop", "completed"),
    ],
)
def test_a_done_behind_another_end_is_no_other_end(end, reason, native, again):
    """Gateways send it behind an end of any kind."""
    closing = event(end["status"], response={"id": "resp_1", "output": [], **end})
    response = fold(text_at(0, "A"), closing, event("done", **again))
    assert (response.finish_reason, response.native_finish_reason) == (reason, native)
    assert response.to_native()["status"] == end["status"]


def test_a_call_that_the_limit_cut_is_not_made_whole_by_a_done():
    start = {"type": "shell_call", "id": "sh_1", "call_id": "call_1", "status": "in_progress"}
    limit = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    response = fold(added(start, output_index=0), event("incomplete", response=limit), event("done"))
    assert [call.status for call in response.tool_calls] == ["truncated"]
    assert response.finish_reason == "length"


@pytest.mark.parametrize("listed", [[texts("cod")], [texts("codex-ok")], []])
def test_a_text_that_goes_on_behind_its_end_keeps_what_came(listed):
    """As 9Router sends it: a part, and its item, are told to be over after the first piece."""
    closed = [event("output_text.done", item_id="msg_1", output_index=0, content_index=0, text="cod")]
    closed.append(done(texts("cod"), output_index=0))
    pieces = [text_at(0, piece) for piece in ("ex", "-", "ok")]
    response = fold(part_at(0), text_at(0, "cod"), *closed, *pieces, completed(*listed))
    assert response.text == "codex-ok"
    kinds = [diagnostic.kind for diagnostic in response.diagnostics]
    assert kinds == (["late_delta", "stale_text"] if listed == [texts("cod")] else ["late_delta"])


def test_a_text_that_is_stated_shorter_is_that_text():
    """What is not what was stated before replaces what came."""
    stated = [
        event("output_text.done", item_id="msg_1", output_index=0, content_index=0, text=text) for text in ("ab", "a")
    ]
    assert fold(text_at(0, "ab"), stated[0], text_at(0, "c"), stated[1], completed()).text == "a"


@pytest.mark.parametrize("late", ["on", "text goes on", "A text "])
def test_a_piece_of_a_text_that_comes_behind_its_end_adds_nothing_to_what_is_stated_again(late):
    """Out of its turn, or once more: the text is what its end, its item and the response all say."""
    whole = texts("A text goes on")
    closed = [event("output_text.done", item_id="msg_1", output_index=0, content_index=0, text="A text goes on")]
    response = fold(
        text_at(0, "A text goes on"), *closed, text_at(0, late), done(whole, output_index=0), completed(whole)
    )
    assert response.text == "A text goes on"


def test_items_at_one_index_share_no_fields():
    """SGLang's router closes with one empty message, whatever items came."""
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    empty = {"id": "msg_1", "type": "message", "role": "assistant", "content": [{"type": "text", "text": ""}]}
    response = fold(done(thought, output_index=0), completed(empty))
    assert response.to_native()["output"] == [thought, empty]


def test_reasoning_and_text_at_one_index_share_no_fields():
    hm = event("reasoning_text.delta", item_id="rs_1", output_index=0, content_index=0, delta="Hm.")
    response = fold(hm, text_at(0, "A"), done(texts("A"), output_index=0), completed())
    reasoning, message = response.to_native()["output"]
    assert reasoning["content"] == [{"type": "reasoning_text", "text": "Hm."}]
    assert message == texts("A")


FOUND = {"type": "search_results", "queries": ["q"], "results": [{"id": 1, "url": "u", "title": "t", "snippet": "s"}]}
PERPLEXITY_USAGE = {
    "input_tokens": 5,
    "output_tokens": 2,
    "total_tokens": 7,
    "input_tokens_details": {"cache_creation_input_tokens": 1, "cache_read_input_tokens": 2},
}


def test_thoughts_beside_a_search_are_reasoning():
    """As Perplexity tells them. No request takes them back, and what else was told then is carried."""
    closing = event(
        "completed", response={"status": "completed", "output": [FOUND, texts("A")], "usage": PERPLEXITY_USAGE}
    )
    response = fold(
        event("reasoning.started", thought="I think."),
        event("reasoning.search_queries", queries=["q"], thought="I look."),
        event("reasoning.search_results", results=FOUND["results"]),
        event("reasoning.stopped"),
        done(FOUND, output_index=0),
        done(texts("A"), output_index=1),
        closing,
    )
    assert response.reasoning == "I think.\n\nI look."
    names = [part.name for part in response.parts if part.kind == "unknown"]
    assert names == ["response.reasoning.search_queries", "response.reasoning.search_results", "search_results"]
    usage = response.usage
    assert (usage.input_tokens, usage.cached_input_tokens, usage.cache_write_input_tokens) == (5, 2, 1)
    assert response.message.to_request("openai-responses") == [FOUND, texts("A")]


def test_a_response_that_waits_for_results_is_whole():
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
    body = {"id": "resp_1", "object": "response", "status": "requires_action", "output": [call]}
    response = fold(added({**call, "arguments": ""}, output_index=0), event("completed", response=body))
    assert (response.finish_reason, response.native_finish_reason) == ("tool_calls", "requires_action")
    assert [made.status for made in response.tool_calls] == ["complete"]
    assert response.to_native() == body


@pytest.mark.parametrize("kind", ["response.keepalive", "response.ping", "response.heartbeat", "response.metadata"])
def test_what_concerns_the_connection_is_no_part(kind):
    alive = sse(
        {"type": kind, "metadata": {"a": 1}, "headers": {}} if kind == "response.metadata" else {"type": kind}, kind
    )
    response = fold(text_at(0, "A"), alive, completed())
    assert [part.kind for part in response.parts] == ["text"]
    assert "metadata" not in response.extra


def test_the_limits_behind_the_end_are_no_part():
    response = fold(text_at(0, "A"), completed(), event("rate_limits.updated", rate_limits=[{"name": "requests"}]))
    assert [part.kind for part in response.parts] == ["text"]
    assert response.extra["rate_limits"] == [{"name": "requests"}]
    assert response.ended == "clean"


HM = {"type": "summary_text", "text": "Hm."}
LITELLM_THOUGHT = {
    "type": "reasoning",
    "id": "rs_2",
    "status": "completed",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Hm.", "annotations": []}],
}


def litellm_thought():
    """The events of its bridge: no index of the summary, and the thought again in the end of the message's part."""
    where = {"item_id": "rs_1", "output_index": 0}
    return [
        added({"id": "rs_1", "type": "reasoning", "status": "in_progress", "summary": None}, output_index=0),
        event("reasoning_summary_text.delta", delta="H", **where),
        event("reasoning_summary_text.delta", delta="m.", **where),
        event("reasoning_summary_text.done", text="Hm.", summary_index=0, **where),
        event("reasoning_summary_part.done", part=HM, summary_index=0, **where),
        done({"id": "rs_1", "type": "reasoning", "summary": [HM]}, output_index=0),
    ]


def test_a_thought_told_as_the_text_of_a_reasoning_item_is_no_answer():
    response = fold(completed(LITELLM_THOUGHT, texts("A")))
    assert (response.text, response.reasoning) == ("A", "Hm.")
    assert response.to_native()["output"] == [LITELLM_THOUGHT, texts("A")]


def test_a_thought_told_again_in_the_other_list_is_one():
    ends = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    response = fold(
        *litellm_thought(),
        text_at(0, "A"),
        event("output_text.done", text="A", **ends),
        event("content_part.done", part={"type": "reasoning_text", "reasoning": "Hm."}, **ends),
        done(texts("A"), output_index=0),
        completed(LITELLM_THOUGHT, texts("A")),
    )
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hm."), ("text", "A")]


def test_a_summary_and_a_content_that_say_the_same_are_two_if_one_item_has_both():
    content = [{"type": "reasoning_text", "text": "Hm."}]
    item = {"id": "rs_1", "type": "reasoning", "summary": [HM], "content": content}
    response = fold(done(item, output_index=0), completed(item))
    assert response.to_native()["output"] == [item]


def test_a_part_of_reasoning_under_the_type_of_a_text_is_reasoning():
    """As vLLM sent it in 2025."""
    where = {"item_id": "rs_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "", "annotations": []}
    thought = {"id": "rs_1", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    response = fold(
        added({**thought, "content": None}, output_index=0),
        event("content_part.added", part=part, **where),
        event("reasoning_text.delta", delta="Hm.", **where),
        event("content_part.done", part={**part, "text": "Hm."}, **where),
        done(thought, output_index=0),
        done(texts("A"), output_index=1),
        completed(thought, texts("A")),
    )
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hm."), ("text", "A")]
    item = response.to_native()["output"][0]
    assert [part["type"] for part in item["content"]] == ["reasoning_text"]


def test_text_and_calls_at_one_index_are_kept_where_the_end_lists_the_calls_alone():
    """As Ollama does: its calls take the index of a text that is not over, and the text is listed no more."""
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
    response = fold(
        added(texts(), output_index=0),
        text_at(0, "Let me look."),
        added({**call, "arguments": ""}, output_index=0),
        event("function_call_arguments.delta", item_id="fc_1", output_index=0, delta="{}"),
        done(call, output_index=0),
        completed(call),
    )
    assert response.text == "Let me look."
    assert [(made.id, made.arguments) for made in response.tool_calls] == [("call_1", {})]


def test_a_custom_call_whose_input_streams_as_the_arguments_of_a_function_has_the_input():
    """As LiteLLM does: the item tells the text that was wrapped in an object."""
    item = {"type": "custom_tool_call", "id": "call_1", "call_id": "call_1", "name": "patch", "input": ""}
    place = {"item_id": "call_1", "output_index": 1}
    response = fold(
        added(item, output_index=1),
        event("function_call_arguments.delta", delta='{"input":', **place),
        event("function_call_arguments.delta", delta='"x"}', **place),
        event("function_call_arguments.done", arguments='{"input":"x"}', **place),
        done({**item, "input": "x"}, output_index=1),
        completed({**item, "input": "x"}),
    )
    assert [(made.type, made.raw_arguments, made.status) for made in response.tool_calls] == [
        ("custom", "x", "complete")
    ]


def test_an_item_that_ends_at_another_index_under_another_id_is_one():
    """As SGLang sends it: one id for all items, and a thought is over at the index of what comes next."""

    def place(index):
        return {"item_id": "item_1", "output_index": index, "content_index": 0}

    thought = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]}
    part = {"type": "output_text", "text": "", "annotations": []}
    response = fold(
        added({"id": "item_1", "type": "reasoning", "summary": []}, output_index=1),
        event("content_part.added", part=part, **place(1)),
        event("reasoning_text.delta", delta="H", **place(1)),
        event("reasoning_text.delta", delta="m.", **place(1)),
        event("reasoning_text.done", text="Hm.", **place(2)),
        done({"id": "rs_1", **thought}, output_index=2),
        added({**texts(), "id": "item_1"}, output_index=2),
        event("content_part.added", part=part, **place(2)),
        event("output_text.delta", delta="A", **place(2)),
        event("output_text.delta", delta="B", **place(2)),
        completed({"id": "rs_2", **thought}, {**texts("AB"), "id": "msg_2"}),
    )
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hm."), ("text", "AB")]


@pytest.mark.parametrize("is_told_done", [True, False])
def test_items_without_ids_that_end_at_the_index_of_the_next_are_told_once(is_told_done):
    """As TensorRT-LLM tells what gpt-oss says. Its ids come with the closing response."""

    def place(index):
        return {"item_id": "", "output_index": index, "content_index": 0}

    thought = {"id": "", "type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hmm."}]}
    answer = {**texts("The end"), "id": ""}
    over = [
        event("output_text.done", text="The end", **place(2)),
        event("content_part.done", part=answer["content"][0], **place(2)),
        done(answer, output_index=2),
    ]
    response = fold(
        added({**thought, "content": None}, output_index=0),
        event("content_part.added", part={"type": "reasoning_text", "text": ""}, **place(0)),
        event("reasoning_text.delta", delta="Hm", **place(0)),
        event("reasoning_text.delta", delta="m.", **place(0)),
        event("reasoning_text.done", text="Hmm.", **place(1)),
        done(thought, output_index=1),
        added({**texts(), "id": ""}, output_index=1),
        event("content_part.added", part=texts("")["content"][0], **place(1)),
        event("output_text.delta", delta="The ", **place(1)),
        event("output_text.delta", delta="end", **place(1)),
        *(over if is_told_done else []),
        completed({**thought, "id": "rs_9"}, {**answer, "id": "msg_9"}),
    )
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hmm."), ("text", "The end")]
    assert response.to_native()["output"] == [{**thought, "id": "rs_9"}, {**answer, "id": "msg_9"}]


@pytest.mark.parametrize("answer_at", [0, 2])
@pytest.mark.parametrize("listed", [True, False])
def test_a_thought_told_as_text_under_the_id_of_its_item_is_no_answer(answer_at, listed):
    """As LocalAI tells it, which gives all events the index of the item that began last."""

    def delta(text, id_, index):
        return event("output_text.delta", delta=text, item_id=id_, output_index=index, content_index=0)

    def over(item, index):
        part = item["content"][0]
        place = {"item_id": item["id"], "output_index": index, "content_index": 0}
        return [
            event("output_text.done", text=part["text"], **place),
            event("content_part.done", part=part, **place),
            done(item, output_index=index),
        ]

    thought = {"id": "reasoning_1", "type": "reasoning", "summary": [], "content": texts("Think")["content"]}
    answer = {**texts("Hello"), "id": "msg_1"}
    last = max(answer_at, 1)
    begins = added({**answer, "content": []}, output_index=answer_at)
    response = fold(
        *([begins] if answer_at == 0 else []),
        added({key: value for key, value in thought.items() if key != "content"}, output_index=1),
        *[delta(text, "reasoning_1", 1) for text in ("Th", "in", "k")],
        *([begins] if answer_at else []),
        *[delta(text, "msg_1", last) for text in ("He", "ll", "o")],
        *over(thought, last),
        *over(answer, last),
        completed(thought, *([answer] if listed else [])),
    )
    assert (response.reasoning, response.text) == ("Think", "Hello")
    assert len(response.parts) == 2
    items = {item["id"]: item for item in response.to_native()["output"]}
    assert items == {"reasoning_1": thought, "msg_1": answer}


def test_a_start_whose_content_is_no_list_opens_its_item():
    message = {"type": "message", "id": "msg_1", "role": "assistant", "content": True}
    response = fold(added(message, output_index=0), added(message, output_index=1), completed())
    assert (response.text, response.error, response.ended) == ("", None, "clean")


@pytest.mark.parametrize("kind", ["steer.failed", "inject.failed"])
def test_input_that_a_response_does_not_take_is_no_error_of_it(kind):
    """A connection tells what becomes of input that its client sends while a response runs: that goes on as it did."""
    error = {"type": "invalid_request_error", "code": "response_not_active", "message": "Too late."}
    steer = {"input": "Stop.", "previous_response_id": "resp_1"}
    told = event(kind, error=error, steer=steer)
    response = fold(
        added(texts(), output_index=0),
        text_at(0, "Hi"),
        told,
        done(texts("Hi"), output_index=0),
        completed(texts("Hi")),
    )
    assert (response.text, response.error, response.finish_reason, response.ended) == ("Hi", None, "stop", "clean")
    (carried,) = [part for part in response.parts if part.kind == "unknown"]
    assert (carried.name, carried.payload["error"]) == (f"response.{kind}", error)


def test_a_model_that_fails_amid_a_call_of_the_server_is_no_error_of_the_response():
    """OpenRouter's fusion asks several models, and says which of them gave no answer."""
    place = {"item_id": "fu_1", "output_index": 0}
    failed = event("fusion_call.panel.failed", model="a/b", error="timed out", status_code=504, **place)
    item = {"type": "openrouter:fusion", "id": "fu_1", "status": "completed"}
    rest = [added(texts(), output_index=1), done(texts("Hi"), output_index=1), completed(item, texts("Hi"))]
    response = fold(added(item, output_index=0), failed, done(item, output_index=0), *rest)
    assert (response.text, response.error, response.finish_reason) == ("Hi", None, "stop")
    assert "response.fusion_call.panel.failed" in [part.name for part in response.parts if part.kind == "unknown"]


def test_an_error_that_names_an_item_is_one_of_the_response():
    """It is told by no event of a tool that has failed, so that the answer ends with it."""
    place = {"item_id": "m", "output_index": 0}
    error = {"type": "server_error", "code": "server_error", "message": "The server is gone."}
    response = fold(added(texts(), output_index=0), event("stream_error", error=error, **place))
    assert response.error is not None
    assert (response.error.message, response.finish_reason) == ("The server is gone.", "error")


def counted_up(*pieces, number, announced=True, stem="output_text", **place):
    """A text of which each event has the next index, as vLLM of 2025 counts; or others, who announce no part."""
    text, first = "".join(pieces), 1 if announced else 0
    part = {"type": "output_text", "text": text, "annotations": []}
    frames = [event("content_part.added", content_index=0, part={**part, "text": ""}, **place)] if announced else []
    for index, piece in enumerate(pieces, first):
        frames.append(event(f"{stem}.delta", content_index=index, delta=piece, **place))
    frames.append(event(f"{stem}.done", content_index=number, text=text, **place))
    if stem == "output_text":
        frames.append(event("content_part.done", content_index=number + 1, part=part, **place))
    return frames


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_text_whose_events_are_counted_up_is_one_part(is_cut):
    frames = counted_up("I", " am", " here", number=4, item_id="a", output_index=0)
    item = {**texts("I am here"), "id": "a"}
    closing = [done(item, output_index=0), completed({**item, "id": "z"})]
    start = added({**texts(), "id": "a"}, output_index=0)
    response = fold(start, *(frames[:4] if is_cut else [*frames, *closing]))
    assert [part.text for part in response.parts] == [response.text] == ["I am here"]
    assert response.truncated is is_cut


def test_reasoning_whose_events_are_counted_up_is_one_part_and_no_part_of_the_answer():
    """vLLM of 2025 announces it as a text, and says once that a message begins at its index and under its id."""
    thought = {"id": "a", "type": "reasoning", "summary": []}
    whole = {**thought, "content": [{"type": "reasoning_text", "text": "Let me"}]}
    answer = {**texts("Yes."), "id": "b"}
    response = fold(
        added(thought, output_index=0),
        *counted_up("Let", " me", number=3, stem="reasoning_text", item_id="a", output_index=0),
        done(whole, output_index=0),
        added({**texts(), "id": "a"}, output_index=0),
        *counted_up("Yes", ".", number=3, item_id="b", output_index=1),
        done(answer, output_index=1),
        completed({**whole, "id": "y"}, {**answer, "id": "z"}),
    )
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Let me"), ("text", "Yes.")]
    assert [item["type"] for item in response.to_native()["output"]] == ["reasoning", "message"]


def test_the_whole_text_under_the_next_index_is_no_part_where_none_was_announced():
    frames = counted_up("I", " am", number=2, announced=False, item_id="a", output_index=0)
    response = fold(added({**texts(), "id": "a"}, output_index=0), *frames, completed())
    assert response.text == "I am"


def test_texts_told_whole_under_indexes_of_their_own_are_parts_each():
    told = [event("output_text.done", item_id="a", output_index=0, content_index=n, text="a") for n in range(2)]
    response = fold(added({**texts(), "id": "a"}, output_index=0), *told, completed())
    assert [part.text for part in response.parts] == ["a", "a"]


def one_by_one(*said):
    """A message each, told to its end."""
    for index, text in enumerate(said):
        item = {**texts(text), "id": f"msg_{index}"}
        yield added({**texts(), "id": item["id"]}, output_index=index)
        yield event("output_text.delta", item_id=item["id"], output_index=index, content_index=0, delta=text)
        yield done(item, output_index=index)


@pytest.mark.parametrize("cites", [False, True])
def test_messages_that_are_one_in_the_closing_response_are_not_told_twice(cites):
    """As gateways close a stream of Codex."""
    source = {"type": "url_citation", "url": "u", "start_index": 0, "end_index": 3}
    closing = {**texts("One. Two."), "id": "z"}
    closing["content"][0]["annotations"] = [source] if cites else []
    response = fold(*one_by_one("One. ", "Two."), completed(closing))
    assert [part.text for part in response.parts] == ["One. ", "Two."]
    assert list(response.annotations) == closing["content"][0]["annotations"]


def test_no_field_is_made_up_where_one_message_of_several_is_listed():
    closing = {**texts("One. Two."), "id": "z"}
    listed = fold(*one_by_one("One. ", "Two."), completed(closing)).to_native()["output"]
    assert all("refusal" not in part and "summary" not in item for item in listed for part in item["content"])


def test_what_one_listed_item_of_several_says_in_another_list_is_kept():
    def thought(id_, text, *summary):
        parts = [{"type": "summary_text", "text": part} for part in summary]
        content = [{"type": "reasoning_text", "text": text}]
        return {"type": "reasoning", "id": id_, "summary": parts, "content": content}

    came = [done(thought(f"r{n}", text), output_index=n) for n, text in enumerate(["One. ", "Two."])]
    assert "In short." in fold(*came, completed(thought("z", "One. Two.", "In short."))).reasoning


def test_a_delta_may_be_a_part_with_the_text_in_it():
    """As a gateway before Codex passed parts of Claude's on."""
    start = added({**texts(), "id": "msg_1"}, output_index=0)
    pieces = [text_at(0, {"type": "output_text", "text": text}) for text in ("Hel", "lo")]
    assert fold(start, *pieces, completed()).text == "Hello"


def test_the_log_probabilities_of_a_text_that_never_ended_are_in_the_body():
    tokens = [{"token": "Hi", "logprob": -1}]
    message = {"type": "message", "id": "m", "role": "assistant", "content": []}
    delta = event("output_text.delta", item_id="m", output_index=0, content_index=0, delta="Hi", logprobs=tokens)
    (item,) = fold(added(message), delta).to_native()["output"]
    assert item["content"] == [{"type": "output_text", "text": "Hi", "logprobs": tokens}]


@pytest.mark.parametrize("starts", [True, False])
def test_the_agent_that_events_tell_is_that_of_their_item(starts):
    """Of several agents, as in OpenAI's beta, and not of the response."""
    one, other = {"agent_name": "/root"}, {"agent_name": "/root/bird"}
    frames = []
    for place, agent in enumerate((one, other)):
        start = {"type": "message", "id": f"m{place}", "role": "assistant", "content": [], "agent": agent}
        delta = {"item_id": f"m{place}", "output_index": place, "content_index": 0, "agent": agent}
        frames += [added(start, output_index=place)] if starts else []
        frames += [event("output_text.delta", **delta, delta=f"{number} ") for number in range(20)]
    body = fold(*frames).to_native()
    assert "agent" not in body
    assert [item["agent"] for item in body["output"]] == [one, other]
    assert [item["content"][0]["text"] for item in body["output"]] == ["".join(f"{n} " for n in range(20))] * 2
