"""Facts that stand beside the interaction instead of in it."""

from __future__ import annotations

import pytest

import chunkfold
from tests.laws import assert_laws
from tests.streams import sse


def test_usage_and_status_may_stand_in_the_closing_event_itself():
    counts = {"total_input_tokens": 5, "total_output_tokens": 4, "total_thought_tokens": 2, "total_tokens": 11}
    body = b"".join(
        map(
            sse,
            (
                {"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress"}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hi"}},
                {
                    "event_type": "interaction.completed",
                    "interaction_id": "v1",
                    "status": "incomplete",
                    "usage": counts,
                },
            ),
        )
    )
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (5, 6, 11)
    assert (response.finish_reason, response.native_finish_reason, response.ended) == ("length", "incomplete", "clean")


COUNTS = {
    "input_tokens": 5,
    "input_tokens_details": {"cached_tokens": 1},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 12,
}
FLAT = {"id": "i_1", "object": "interaction", "model": "m"}
STEP = {"type": "model_output", "content": [{"type": "text", "text": "Hey"}]}
FLAT_EVENTS = [
    {"event_type": "interaction.created", **FLAT, "status": "in_progress"},
    {"event_type": "step.start", "index": 0, "step": {"type": "model_output", "content": []}},
    {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "He"}},
    {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "y"}},
    {"event_type": "step.stop", "index": 0},
    {"event_type": "interaction.completed", **FLAT, "status": "completed", "steps": [STEP], "usage": COUNTS},
]
CONTENT = {"id": "i_1", "object": "content"}
OLD_FLAT_EVENTS = [
    {"event_type": "interaction.start", **FLAT, "status": "in_progress"},
    {"event_type": "content.start", **CONTENT, "delta": {"type": "text", "text": ""}},
    {"event_type": "content.delta", **CONTENT, "delta": {"type": "text", "text": "He"}},
    {"event_type": "content.delta", **CONTENT, "delta": {"type": "text", "text": "y"}},
    {"event_type": "content.stop", **CONTENT, "delta": {"type": "text", "text": "Hey"}},
    {"event_type": "interaction.complete", **FLAT, "status": "completed", "outputs": STEP["content"], "usage": COUNTS},
]


@pytest.mark.parametrize(
    "events",
    [FLAT_EVENTS, OLD_FLAT_EVENTS, [FLAT_EVENTS[0], FLAT_EVENTS[-1]], [OLD_FLAT_EVENTS[0], OLD_FLAT_EVENTS[-1]]],
)
def test_the_fields_of_the_interaction_may_stand_beside_those_of_the_event(events):
    """So LiteLLM tells what another API has answered, with the usage in that API's words."""
    frames = [*map(sse, events), b"data: [DONE]\n\n"]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.id, response.model) == ("gemini-interactions", "i_1", "m")
    assert [(part.kind, part.text) for part in response.parts] == [("text", "Hey")]
    assert (response.finish_reason, response.ended) == ("stop", "clean")
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, usage.reasoning_tokens) == (5, 7, 1, 3)
    key = "steps" if events[0] is FLAT_EVENTS[0] else "outputs"
    body = {**FLAT, "status": "completed", key: [STEP] if key == "steps" else STEP["content"], "usage": COUNTS}
    assert response.to_native() == body


def test_a_second_start_beside_the_fields_of_the_event_begins_again():
    frames = [*map(sse, (*FLAT_EVENTS[:3], *FLAT_EVENTS))]
    response = assert_laws(b"".join(frames), frames)
    assert response.text == "Hey"


def test_arguments_of_a_call_whose_start_never_came_break_no_call_that_is_over():
    def step(kind, index, **fields):
        return sse({"event_type": f"step.{kind}", "index": index, **fields})

    body = step("start", 0, step={"type": "function_call", "id": "c", "name": "f", "arguments": {"x": 1}})
    body += step("stop", 0) + step("delta", 1, delta={"type": "arguments_delta", "arguments": '{"y":2}'})
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    calls = [(call.name, call.status, call.arguments) for call in response.tool_calls]
    assert calls == [("f", "complete", {"x": 1}), (None, "complete", {"y": 2})]


def test_no_arguments_for_a_step_that_never_began_open_no_call():
    body = b"".join(
        map(
            sse,
            (
                {"event_type": "interaction.created", "interaction": {"id": "v1", "status": "in_progress"}},
                {"event_type": "step.delta", "index": 0, "delta": {"type": "arguments_delta", "arguments": ""}},
                {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "Hi"}},
                {"event_type": "interaction.completed", "interaction": {"id": "v1", "status": "completed"}},
            ),
        )
    )
    response = assert_laws(body, [body[:50], body[50:]])
    assert [part.kind for part in response.parts] == ["text"]


def named(kind, **fields):
    return b"event: %b\n" % kind.encode() + sse({"type": kind, **fields})


def manual(kind, **fields):
    return sse({"type": kind, **fields})


@pytest.mark.parametrize("event", [named, manual])
def test_the_stream_is_read_that_googles_guide_to_migration_prints(event):
    """Its service says some of it otherwise, but clients, proxies and mocks are written after the guide."""

    def interaction(status, **fields):
        return event(f"interaction.{status}", interaction={"id": "i_1", "status": status, **fields})

    frames = [
        interaction("created"),
        interaction("in_progress"),
        event("step.start", index=0, step={"type": "thought"}),
        event("step.delta", index=0, delta={"type": "thought", "text": "The user wants "}),
        event("step.delta", index=0, delta={"type": "thought", "text": "weather."}),
        event("step.stop", index=0, status="done"),
        event("step.start", index=1, step={"type": "function_call", "id": "fc_1", "name": "get_weather"}),
        event("step.delta", index=1, delta={"type": "arguments", "partial_arguments": '{"location": '}),
        event("step.delta", index=1, delta={"type": "arguments", "partial_arguments": '"Boston"}'}),
        event("step.stop", index=1, status="waiting"),
        interaction("requires_action", usage={"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}),
    ]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.id, response.reasoning) == (
        "gemini-interactions",
        "i_1",
        "The user wants weather.",
    )
    assert [part.kind for part in response.parts] == ["reasoning", "tool_call"]
    (call,) = response.tool_calls
    assert (call.id, call.name, call.arguments) == ("fc_1", "get_weather", {"location": "Boston"})
    assert (response.finish_reason, response.native_finish_reason, response.ended) == (
        "tool_calls",
        "requires_action",
        "clean",
    )
    assert response.usage.total_tokens == 5
    assert response.to_native() == {
        "id": "i_1",
        "object": "interaction",
        "status": "requires_action",
        "steps": [
            {
                "type": "thought",
                "summary": [{"type": "text", "text": "The user wants weather."}],
                "status": "done",
            },
            {
                "type": "function_call",
                "id": "fc_1",
                "name": "get_weather",
                "arguments": {"location": "Boston"},
                "status": "waiting",
            },
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5},
    }


@pytest.mark.parametrize(
    "deltas",
    [
        # Some proxies, others in both ways; Google's guide of 2025.
        [{"type": "thought_summary", "text": "Let me "}, {"type": "thought_summary", "text": "see."}],
        [
            {"type": "thought_summary", "text": text, "content": {"type": "text", "text": text}}
            for text in ("Let me ", "see.")
        ],
        [{"type": "thought", "thought": "Let me "}, {"type": "thought", "thought": "see."}],
    ],
)
def test_the_text_of_a_thought_may_stand_in_the_delta_itself(deltas):
    frames = [sse({"event_type": "interaction.created", "interaction": {"id": "i_1", "status": "in_progress"}})]
    frames += [sse({"event_type": "step.delta", "index": 0, "delta": delta}) for delta in deltas]
    frames += [sse({"event_type": "interaction.completed", "interaction": {"id": "i_1", "status": "completed"}})]
    response = assert_laws(b"".join(frames), frames)
    assert (response.reasoning, [part.kind for part in response.parts]) == ("Let me see.", ["reasoning"])
    thought = {"type": "thought", "summary": [{"type": "text", "text": "Let me see."}]}
    assert response.to_native()["steps"] == [thought]


def test_a_word_of_progress_takes_nothing_back_and_is_no_part():
    """Google's `interaction.status_update` is called by its status in the guide."""
    progress = {"event_type": "interaction.in_progress", "interaction_id": "i_1", "status": "in_progress"}
    frames = [*map(sse, (FLAT_EVENTS[0], progress, *FLAT_EVENTS[1:3], progress, *FLAT_EVENTS[3:]))]
    response = assert_laws(b"".join(frames), frames)
    assert ([part.kind for part in response.parts], response.text) == (["text"], "Hey")
    assert response.finish_reason == "stop"


def test_the_events_of_openais_helper_are_none():
    """`client.chat.completions.stream()`, dumped."""
    body = sse({"type": "content.delta", "delta": "Hi", "snapshot": "Hi", "parsed": None}) * 2
    response = chunkfold.fold(body)
    assert (response.dialect, response.error.type) == (None, "unrecognised")


# Interactions that go on with one another


def begun(id_, **fields):
    return {"event_type": "interaction.created", "interaction": {"id": id_, "status": "in_progress", **fields}}


def said(index, *texts):
    return [
        {"event_type": "step.start", "index": index, "step": {"type": "model_output"}},
        *[{"event_type": "step.delta", "index": index, "delta": {"type": "text", "text": text}} for text in texts],
        {"event_type": "step.stop", "index": index},
    ]


def over(id_, status, usage, **fields):
    interaction = {"id": id_, "status": status, "usage": usage, **fields}
    return {"event_type": "interaction.completed", "interaction": interaction}


def modal(tokens):
    return [{"modality": "text", "tokens": tokens}]


COST = {"total_input_tokens": 10, "total_output_tokens": 100, "output_tokens_by_modality": modal(100)}
COST_OF_REST = {"total_input_tokens": 110, "total_output_tokens": 5, "output_tokens_by_modality": modal(5)}
REST = [
    begun("v1_b", previous_interaction_id="v1_a"), *said(0, "lo", "!"), over("v1_b", "completed", COST_OF_REST)
]  # fmt: skip
CHECKPOINT = {"event_type": "interaction.status_update", "status": "in_progress", "continuation_token": "t"}
STOPPED = [
    [over("v1_a", "requires_continuation", COST, continuation_token="t")],
    [{"event_type": "step.stop", "index": 1, "usage": COST}, CHECKPOINT],
]


@pytest.mark.parametrize("stopped", STOPPED)
def test_an_interaction_goes_on_with_the_one_that_was_stopped(stopped):
    """Google's SDK asks for the rest by itself, and hands out the events of both: each is paid for, and half a text."""
    frames = [begun("v1_a"), *said(0, "One. "), *said(1, "Hel"), *stopped, *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [part.text for part in response.parts] == ["One. ", "Hel", "lo!"]
    assert (response.id, response.finish_reason, response.ended) == ("v1_a", "stop", "clean")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (120, 105)
    body = response.to_native()
    assert body["usage"]["output_tokens_by_modality"] == modal(105)
    assert [step["content"][0]["text"] for step in body["steps"]] == ["One. ", "Hel", "lo!"]
    assert body["continuation_ids"] == ["v1_a", "v1_b"]
    assert "previous_interaction_id" not in body


def test_steps_that_only_the_end_of_the_rest_states_are_taken():
    step = {"type": "model_output", "content": [{"type": "text", "text": "lo"}]}
    stated = over("v1_b", "completed", COST_OF_REST, steps=[step])
    frames = [begun("v1_a"), *said(0, "Hel"), *STOPPED[0], begun("v1_b"), stated]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [part.text for part in response.parts] == ["Hel", "lo"]


def test_the_rest_is_asked_for_again_where_nothing_of_it_came():
    frames = [begun("v1_a"), *said(0, "Hel"), CHECKPOINT, begun("v1_c"), *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert response.text == "Hello!"
    assert response.to_native()["continuation_ids"] == ["v1_a", "v1_c", "v1_b"]


def test_interactions_that_are_not_stored_need_no_id_to_go_on():
    frames = [begun(None), *said(0, "Hel"), CHECKPOINT, begun(None), *said(0, "lo"), over(None, "completed", COST)]
    assert assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)]).text == "Hello"


def test_the_same_interaction_is_replayed_and_does_not_go_on():
    frames = [begun("v1_b"), *said(0, "lo"), CHECKPOINT, *REST]
    assert assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)]).text == "lo!"


@pytest.mark.parametrize("between", [[], [CHECKPOINT, *said(1, "Hel")], [over("v1_a", "completed", COST)]])
def test_an_interaction_that_nothing_was_to_follow_is_void_where_another_begins(between):
    frames = [begun("v1_a"), *said(0, "Hel"), *between, *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert (response.id, response.text) == ("v1_b", "lo!")
    assert response.usage.input_tokens == 110


GONE_ON = [begun("v1_a"), *said(0, "Hel"), *STOPPED[0]]


def test_a_rest_that_comes_twice_is_one_and_leaves_what_it_goes_on_with():
    """A proxy, or a stream that is taken up again, begins with the interaction at hand once more."""
    frames = [*GONE_ON, *REST[:3], *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert ([part.text for part in response.parts], response.id) == (["Hel", "lo!"], "v1_a")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (120, 105)
    assert response.to_native()["continuation_ids"] == ["v1_a", "v1_b"]


def test_a_rest_that_comes_again_behind_its_end_is_one_and_that_is_noted():
    frames = [*GONE_ON, *REST, *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [part.text for part in response.parts] == ["Hel", "lo!"]
    assert [noted.kind for noted in response.diagnostics] == ["several_messages"]
    assert response.usage.input_tokens == 120


def test_a_rest_that_is_stated_without_its_steps_erases_nothing():
    frames = [*GONE_ON, *REST, {"object": "interaction", "id": "v1_b", "status": "completed", "usage": COST_OF_REST}]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [part.text for part in response.parts] == ["Hel", "lo!"]
    assert (response.usage.input_tokens, response.diagnostics) == (120, ())


def test_a_rest_that_is_stated_whole_leaves_what_it_goes_on_with():
    step = {"type": "model_output", "content": [{"type": "text", "text": "lo!"}]}
    whole = {"object": "interaction", "id": "v1_b", "status": "completed", "steps": [step], "usage": COST_OF_REST}
    frames = [*GONE_ON, *REST[:3], whole]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert ([part.text for part in response.parts], response.ended) == (["Hel", "lo!"], "clean")
    assert response.usage.input_tokens == 120


def test_all_of_a_chain_that_comes_twice_costs_once():
    frames = [*GONE_ON, *REST] * 3
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [part.text for part in response.parts] == ["Hel", "lo!"]
    assert (response.usage.input_tokens, response.usage.output_tokens) == (120, 105)
    assert response.to_native()["continuation_ids"] == ["v1_a", "v1_b"]
    assert [step["content"][0]["text"] for step in response.to_native()["steps"]] == ["Hel", "lo!"]


def test_an_interaction_behind_a_chain_has_none_of_its_cost():
    new = [begun("v1_z"), *said(0, "Ho"), over("v1_z", "completed", COST)]
    frames = [*GONE_ON, *REST, *new]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert (response.id, response.text, response.usage.input_tokens) == ("v1_z", "Ho", 10)


def test_a_rest_that_is_cut_costs_what_was_told():
    frames = [*GONE_ON, *REST[:3]]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert (response.text, response.truncated, response.finish_reason) == ("Hello", True, None)
    assert response.usage.input_tokens == 10


def test_an_interaction_that_is_over_is_not_gone_on_with_whatever_token_it_has():
    frames = [begun("v1_a"), *said(0, "Hel"), over("v1_a", "completed", COST, continuation_token="t"), *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert (response.text, response.usage.input_tokens) == ("lo!", 110)


def test_steps_with_names_in_the_place_of_numbers_are_of_their_own_interaction():
    def step(text):
        return {"event_type": "step.delta", "index": "s", "delta": {"type": "text", "text": text}}

    frames = [begun("v1_a"), step("Hel"), *STOPPED[0], begun("v1_b"), step("lo"), over("v1_b", "completed", COST)]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [(part.text, part.extra.get("$form")) for part in response.parts] == [("Hel", None), ("lo", None)]


def test_counts_in_other_forms_are_added_too():
    """-1 says that a server does not count."""
    one = {"total_input_tokens": 10.0, "total_output_tokens": -1, "total_cached_tokens": -1}
    two = {"total_input_tokens": 5, "total_output_tokens": 7, "total_cached_tokens": -1}
    frames = [begun("v1_a"), *said(0, "Hel"), over("v1_a", "requires_continuation", one)]
    frames += [begun("v1_b"), *said(0, "lo"), over("v1_b", "completed", two)]
    usage = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)]).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (15, 7, None)


def test_the_prompt_that_it_all_began_with_is_counted_once():
    """Google's SDK states the first one's in `initial_input_tokens`; the same field of those behind says the same."""
    cost = {"total_input_tokens": 10, "initial_input_tokens": 10}
    rest = {"total_input_tokens": 15, "initial_input_tokens": 10}
    frames = [begun("v1_a"), *said(0, "Hel"), over("v1_a", "requires_continuation", cost)]
    frames += [begun("v1_b"), *said(0, "lo"), over("v1_b", "completed", rest)]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert response.usage.raw == {"total_input_tokens": 25, "initial_input_tokens": 10}


def test_each_of_many_interactions_that_go_on_costs_the_same():
    legs = [[begun(f"v1_{nth}"), said(0, "x")[1], CHECKPOINT] for nth in range(8_000)]
    response = chunkfold.fold(b"".join(sse(frame) for leg in legs for frame in leg))
    assert len(response.parts) == 8_000
    assert response.to_native()["continuation_ids"][-1] == "v1_7999"


@pytest.mark.parametrize("stopped", [True, False])
def test_a_call_that_was_stopped_before_its_arguments_is_not_one_without_any(stopped):
    step = {"type": "function_call", "id": "q", "name": "f", "arguments": {}}
    call = [{"event_type": "step.start", "index": 0, "step": step}, {"event_type": "step.stop", "index": 0}]
    frames = [begun("v1_a"), *(call[:1] if stopped else call), CHECKPOINT, *REST]
    response = assert_laws(b"".join(map(sse, frames)), [*map(sse, frames)])
    assert [call.status for call in response.tool_calls] == ["truncated" if stopped else "empty"]


PICTURE = {"type": "image", "mime_type": "image/png", "data": "iVBORw=="}


def paragraph(text):
    return {"type": "text", "text": text}


@pytest.mark.parametrize(
    ("contents", "summary"),
    [
        (["H", "m", PICTURE, "So"], ["Hm", PICTURE, "So"]),
        ([PICTURE, "H", "m"], [PICTURE, "Hm"]),
        (["Hm", PICTURE], ["Hm", PICTURE]),
        ([PICTURE, "Hm", "", PICTURE, PICTURE, "S", "o", PICTURE], [PICTURE, "Hm", PICTURE, PICTURE, "So", PICTURE]),
    ],
)
def test_a_thought_with_pictures_keeps_its_order(contents, summary):
    """Models that draw think in pictures, too. What is said between two of them is a paragraph of its own."""
    contents, summary = (
        [paragraph(one) if isinstance(one, str) else one for one in all_] for all_ in (contents, summary)
    )
    deltas = [{"type": "thought_summary", "content": one} for one in contents]
    deltas.append({"type": "thought_signature", "signature": "c2ln"})
    frames = [
        sse({"event_type": "interaction.created", "interaction": {"id": "v1", "object": "interaction"}}),
        sse({"event_type": "step.start", "index": 0, "step": {"type": "thought"}}),
        *(sse({"event_type": "step.delta", "index": 0, "delta": delta}) for delta in deltas),
        sse({"event_type": "step.stop", "index": 0}),
        sse({"event_type": "interaction.completed", "interaction": {"id": "v1", "status": "completed"}}),
    ]
    response = assert_laws(b"".join(frames), frames)
    assert response.to_native()["steps"] == [{"type": "thought", "signature": "c2ln", "summary": summary}]
    assert response.reasoning == "\n\n".join(one["text"] for one in summary if one is not PICTURE)
    assert chunkfold.Response.from_native(response.to_native()).reasoning == response.reasoning
