"""
The response, its choices and their parts, made out of what was gathered of them.

A call is judged once, when it ends. What a finish reason means in the light of the content (a plain stop with calls, a
refusal) is decided here, and whether something is missing. A complete response is as the policy has it, whose single
rules stand in `_judgement`; any other is as the stream has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from chunkfold.assembly._extras import copied
from chunkfold.assembly._judgement import Candidate, Verdict, chosen_finish, judge_parts
from chunkfold.basis import _json
from chunkfold.errors import PolicyError
from chunkfold.parts import (
    CALLS,
    CLASSES,
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from chunkfold.response import Choice, Response, StreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.assembly._builders import ChoiceBuilder, PartBuilder, ResponseBuilder
    from chunkfold.parts import Part, ToolCallStatus
    from chunkfold.policy import Policy
    from chunkfold.response import Diagnostic, Ended, FinishReason

# A part, what it is made of, and its place among the parts of its choice.
_Made: TypeAlias = "tuple[Part, PartBuilder, int]"

__all__ = ["as_it_stands", "judged", "judged_part", "part_of", "reason_of"]


# The whole response


def judged(builder: ResponseBuilder, ended: Ended) -> tuple[Response, PolicyError | None]:
    """The response as the policy has it if the stream ends so, and what the policy calls an error."""
    policy, is_lenient = builder.policy, builder.is_lenient
    truncated = _is_truncated(builder, ended)
    choices: list[Choice] = []
    unusable: list[ToolCall] = []
    diagnostics = builder.diagnostics
    for index, choice in builder.in_order():
        if index and policy.choices == "first":
            continue
        made = _parts_of(builder, choice, truncated)
        parts = tuple([part for part, _, _ in made])
        # By default only calls are judged.
        if not is_lenient or ToolCall in map(type, parts):
            verdict = _verdict(builder, index, made)
            parts = verdict.parts
            unusable += verdict.unusable
            diagnostics += verdict.diagnostics
        choices.append(_choice_of(builder, index, choice, parts, ended))
    error, empty = builder.error, _is_empty(builder)
    if not choices or choices[0].index:
        reason = "stop" if empty and policy.empty_stream == "stop" else _said_reason(None, policy, ended)
        if reason is not None:
            choices.insert(0, Choice(finish_reason=reason))
    if empty and policy.empty_stream == "error":
        error = StreamError("empty_stream", "nothing came", retryable=True, origin="decoder")
    response = _response_of(builder, choices, ended, truncated, error, diagnostics)
    return response, _objection_to(response, builder, unusable, empty, ended)


def as_it_stands(builder: ResponseBuilder, ended: Ended) -> Response:
    """The response of a stream that has ended, as it came but for what is hidden."""
    truncated = _is_truncated(builder, ended)
    choices = []
    for index, choice in builder.in_order():
        parts = tuple(part for part, _, _ in _parts_of(builder, choice, truncated))
        choices.append(_choice_of(builder, index, choice, parts, ended))
    return _response_of(builder, choices, ended, truncated, builder.error, builder.diagnostics)


def _response_of(
    builder: ResponseBuilder,
    choices: list[Choice],
    ended: Ended,
    truncated: bool,
    error: StreamError | None,
    diagnostics: list[Diagnostic],
) -> Response:
    facts = builder.facts
    return Response(
        choices=tuple(choices),
        usage=builder.usage,
        ended=ended,
        truncated=truncated,
        error=error,
        id=facts.get("id"),
        model=facts.get("model"),
        created=facts.get("created"),
        dialect=facts.get("dialect"),
        vendor=facts.get("vendor"),
        diagnostics=tuple(diagnostics),
        extra=copied(builder.extra),
    )


def _is_truncated(builder: ResponseBuilder, ended: Ended) -> bool:
    """The server said that it was done by an end mark, by an error, or by a reason for each choice."""
    return ended != "clean" and not builder.provider_error and _is_reason_missing(builder.choices)


def _is_reason_missing(choices: Mapping[int, ChoiceBuilder]) -> bool:
    """The server has not said for each of these choices why it stopped."""
    return not choices or any(not choice.finishes for choice in choices.values())


def _is_empty(builder: ResponseBuilder) -> bool:
    """Nothing came that is part of an answer, and no error that says why."""
    for choice in builder.choices.values():
        if choice.parts or choice.aside or choice.finishes:
            return False
    return builder.error is None


def _objection_to(
    response: Response, builder: ResponseBuilder, unusable: list[ToolCall], empty: bool, ended: Ended
) -> PolicyError | None:
    """What the policy calls an error. A response that was cancelled is nobody's concern."""
    policy, choices = builder.policy, builder.choices
    if policy.choices == "first":
        choices = {index: choice for index, choice in choices.items() if index == 0}
    reasons = []
    if empty and policy.empty_stream != "none":
        if policy.empty_stream == "raise":
            reasons.append("nothing came")
    elif policy.missing_finish == "raise" and not builder.provider_error and _is_reason_missing(choices):
        reasons.append("the server never said why it stopped")
    if unusable:
        reasons.append("unusable tool calls")
    if not reasons or ended == "cancelled":
        return None
    return PolicyError(response, unusable, "; ".join(reasons))


# Choices


def reason_of(builder: ResponseBuilder, choice: ChoiceBuilder, ended: Ended | None) -> FinishReason | None:
    """The server's reason, in the light of what came: only a plain stop is ever changed, and by an error all."""
    if builder.provider_error:
        return "error"
    policy = builder.policy
    reason = _said_reason(choice, policy, ended)
    if reason == "stop" and policy.infer_finish:
        kinds = {part.kind for part in choice.all_parts() if part.kind != "unknown" and not part.hidden}
        if "tool_call" in kinds:
            return "tool_calls"
        if "refusal" in kinds and not any(part.text() for part in choice.parts if part.kind == "text"):
            return "refusal"
    return reason


def _said_reason(choice: ChoiceBuilder | None, policy: Policy, ended: Ended | None) -> FinishReason | None:
    """The reason that was said; if none was, what the policy takes an end for."""
    stands = chosen_finish(choice.finishes, policy) if choice is not None else None
    if stands is not None:
        return stands[0]
    if ended is not None and (
        policy.missing_finish == "stop" or (policy.missing_finish == "stop_if_clean" and ended == "clean")
    ):
        return "stop"
    return None


def _choice_of(
    builder: ResponseBuilder, index: int, choice: ChoiceBuilder, parts: tuple[Part, ...], ended: Ended
) -> Choice:
    stands = chosen_finish(choice.finishes, builder.policy)
    return Choice(
        index=index,
        parts=parts,
        finish_reason=reason_of(builder, choice, ended),
        native_finish_reason=stands[1] if stands else None,
        logprobs=tuple(choice.logprobs),
        annotations=tuple(choice.annotations),
        role=builder.facts.get("role") or "assistant",
    )


def _parts_of(builder: ResponseBuilder, choice: ChoiceBuilder, truncated: bool) -> list[_Made]:
    """The parts of a choice whose stream ended so, or would."""
    cut = truncated or _is_cut(builder, choice)
    return [
        (_part_at_end(part, builder.depth, cut), part, place)
        for place, part in enumerate(choice.all_parts())
        if not part.hidden
    ]


def _is_cut(builder: ResponseBuilder, choice: ChoiceBuilder) -> bool:
    """True if the token limit or an error has cut the choice, as far as it was said."""
    stands = chosen_finish(choice.finishes, builder.policy)
    return builder.error is not None or (stands is not None and stands[0] == "length")


def _part_at_end(part: PartBuilder, depth: int | None, cut: bool) -> Part:
    """The part, of which no more comes. Of a call nothing is kept: more may come, an error behind the end too."""
    if part.kind in CALLS:
        return _call_of(part, depth, over=True, cut=cut)
    return part.built or part_of(part, depth, over=True, cut=cut)


def _verdict(builder: ResponseBuilder, index: int, made: list[_Made]) -> Verdict:
    """What the policy makes of the parts of a choice."""
    candidates = [_candidate(*one) for one in made]
    return judge_parts(candidates, builder.policy, index, builder.depth, builder.facts.get("id"))


def _candidate(part: Part, source: PartBuilder, place: int) -> Candidate:
    return Candidate(
        part,
        source.started,
        source.closed,
        bool(source.pieces or source.chunks),
        source.start_arguments(),
        "expects_arguments" in source.control,
        place,
    )


# Parts


def judged_part(builder: ResponseBuilder, index: int, part: PartBuilder) -> Part | None:
    """A part of the choice *index* that has ended, as the policy has it; `None` if it is not handed out."""
    policy, choice = builder.policy, builder.choices[index]
    if part.hidden or (index and policy.choices == "first"):
        return None
    ended = builder.ended
    cut = _is_cut(builder, choice) or (ended is not None and _is_truncated(builder, ended))
    # Where it stands goes into the id that may be made up for it.
    place = choice.all_parts().index(part) if policy.missing_id == "make" else 0
    parts = _verdict(builder, index, [(_part_at_end(part, builder.depth, cut), part, place)]).parts
    return parts[0] if parts else None


def part_of(part: PartBuilder, depth: int | None, *, over: bool = False, cut: bool = False) -> Part:
    """
    The part as it is now, which is kept until more comes.

    *depth*: how deep arguments may nest; *over*: the stream has ended; *cut*: not where it should have.
    """
    fields, kind = part.fields, part.kind
    built: Part
    if kind == "text":
        text = part.text()
        if not (fields or part.annotations or part.extra):
            built = TextPart(text)
        else:
            built = TextPart(text, annotations=tuple(part.annotations), extra=dict(part.extra), **fields)
    elif kind == "reasoning":
        built = ReasoningPart(text=part.text(), extra=dict(part.extra), **fields)
    elif kind == "refusal":
        built = RefusalPart(part.text())
    elif kind in CALLS:
        built = _call_of(part, depth, over=over, cut=cut)
    elif kind == "server_tool_result":
        built = ToolResult(extra=dict(part.extra), **fields)
    elif kind == "unknown":
        payload: Any = dict(part.extra)
        if "payload" in fields:  # which is no object
            payload = {"value": fields["payload"], **payload} if payload else fields["payload"]
        built = UnknownPart(fields.get("name", ""), payload)
    else:
        built = _media_of(part)
    part.built = built
    return built


def _media_of(part: PartBuilder) -> ImagePart | AudioPart | FilePart:
    fields = dict(part.fields)
    pieces = fields.pop("data", None)
    data = b"".join(pieces) if pieces else None
    if pieces and len(pieces) > 1:
        part.fields["data"] = [data]
    text = part.text()
    if text:
        fields["transcript"] = text
    cls: Callable[..., ImagePart | AudioPart | FilePart] = CLASSES[part.kind]
    return cls(data=data, extra=dict(part.extra), **fields)


def _call_of(part: PartBuilder, depth: int | None, *, over: bool, cut: bool) -> ToolCall:
    raw = part.text()
    fields = part.fields
    status: ToolCallStatus = "open"
    if over or not part.open:
        if not raw and part.control:
            raw = part.start_arguments() or ""
        if part.sealed is None or part.sealed[1] != len(raw):
            part.sealed = (_sealed(raw, depth, is_text=fields.get("type") == "custom"), len(raw))
        status = part.sealed[0]
        if (status == "invalid" and cut and over) or "$cut" in part.extra:
            status = "truncated"
    call = ToolCall(raw_arguments=raw, status=status, extra=dict(part.extra), **fields)
    if part.reader is not None:
        call.__dict__["reader"] = part.reader
    return call


def _sealed(raw: str, depth: int | None, *, is_text: bool) -> ToolCallStatus:
    """What the argument text of a call that has ended is."""
    if is_text:
        return "complete"
    if not raw.strip(" \t\r\n"):
        return "empty"
    return "complete" if _json.is_object(raw, depth) else "invalid"
