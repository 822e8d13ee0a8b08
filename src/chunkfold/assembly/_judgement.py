"""
What a policy makes of doubtful things.

The accumulator keeps everything; what of it is handed out is decided here, when the response is finished, and what
stands of what was said twice. What was done is told in diagnostics, by sizes and names, never by argument text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.basis import _json
from chunkfold.basis._wording import counted
from chunkfold.parts import ToolCall
from chunkfold.policy import ORIGINAL_ARGUMENTS
from chunkfold.response import Diagnostic, Usage

if TYPE_CHECKING:
    from chunkfold.parts import Part
    from chunkfold.policy import Policy
    from chunkfold.response import FinishReason

__all__ = ["Candidate", "Verdict", "chosen_finish", "judge_parts", "made_up_id", "merged_name", "merged_usage"]


class Candidate(msgspec.Struct):
    """A part as gathered, and what is known about how it came."""

    part: Part
    started: bool
    """False for a part made of orphaned deltas."""
    closed: int
    """The how-manieth part it was to be stopped, from 1; 0 if it never was."""
    seen: bool
    """True if a delta came, even an empty one."""
    start_arguments: str | None
    """The arguments that the start of a call carried, as JSON text."""
    expects_arguments: bool
    """True if the start of a call promised argument deltas."""
    place: int
    """The how-manieth part of its choice it was, from 0, those counted that are not handed out."""


class Verdict(msgspec.Struct):
    """What is handed out of a choice."""

    parts: tuple[Part, ...]
    unusable: tuple[ToolCall, ...]
    """The client calls that cannot be used, when the policy calls that an error."""
    diagnostics: tuple[Diagnostic, ...]


def judge_parts(
    candidates: list[Candidate], policy: Policy, choice: int, depth: int | None, response_id: str | None
) -> Verdict:
    """The parts of a choice that the policy hands out, in its order."""
    kept = [candidate for candidate in candidates if _stays(candidate, policy)]
    if policy.order == "closed":
        kept.sort(key=lambda candidate: candidate.closed or len(candidates) + 1)
    elif policy.order == "index":
        kept = _sorted_calls(kept)
    parts: list[Part] = []
    unusable: list[ToolCall] = []
    diagnostics: list[Diagnostic] = []
    for candidate in kept:
        part: Part | None = candidate.part
        if isinstance(part, ToolCall) and not part.server_side:
            part = _judged_call(candidate, part, policy, depth, diagnostics, choice)
            if part is None:
                continue
            if not part.is_usable and policy.unusable_arguments == "raise":
                unusable.append(part)
            if part.id is None and policy.missing_id == "make":
                facts = (policy.id_seed, response_id, choice, candidate.place, part.name, part.raw_arguments)
                part = msgspec.structs.replace(part, id=made_up_id("call", *facts))
        parts.append(part)  # type: ignore[arg-type]
    return Verdict(tuple(parts), tuple(unusable), tuple(diagnostics))


def _stays(candidate: Candidate, policy: Policy) -> bool:
    part = candidate.part
    if not candidate.started and policy.orphans != "keep":
        return False
    if not candidate.closed and policy.unclosed_parts == "drop":
        return False
    if part.kind == "reasoning" and policy.reasoning != "keep":
        return False
    if isinstance(part, ToolCall) and not part.server_side:
        return (part.name or policy.missing_name == "keep") and (part.id or policy.missing_id != "drop")  # type: ignore[return-value]
    return True


def _sorted_calls(candidates: list[Candidate]) -> list[Candidate]:
    """Calls by the provider's numbers, in the places where calls stand. One without a number stays behind the rest."""
    places = [place for place, candidate in enumerate(candidates) if isinstance(candidate.part, ToolCall)]
    calls = sorted((candidates[place] for place in places), key=_number_of_call)
    out = list(candidates)
    for place, call in zip(places, calls, strict=True):
        out[place] = call
    return out


def _number_of_call(candidate: Candidate) -> tuple[bool, int]:
    number = candidate.part.index if isinstance(candidate.part, ToolCall) else None
    return number is None, number or 0


def _judged_call(
    candidate: Candidate,
    call: ToolCall,
    policy: Policy,
    depth: int | None,
    diagnostics: list[Diagnostic],
    choice: int,
) -> ToolCall | None:
    """The call as the policy has it; `None` if it goes."""
    lost = policy.unusable_arguments == "start" and candidate.expects_arguments and not candidate.seen
    if call.is_usable and not lost:
        return _with_null(call) if call.status == "empty" and policy.empty_arguments == "null" else call
    if policy.non_object_arguments == "accept" and not call.is_usable and _is_whole_json(call, depth):
        return msgspec.structs.replace(call, status="complete")
    size = 0 if lost else len(call.raw_arguments.encode("utf-8", "surrogatepass"))
    why = "none came" if lost else call.status
    diagnostics.append(
        Diagnostic(
            "unusable_arguments",
            choice=choice,
            detail=f"{call.name or 'a call without a name'}: {counted(size, 'byte')} of argument text, {why}",
        )
    )
    if policy.unusable_arguments == "drop":
        return None
    if policy.unusable_arguments == "null":
        return _with_null(call)
    if policy.unusable_arguments == "start":
        reason = "missing_fragments" if lost else "json_decode_error"
        lost_arguments = {"reason": reason, "bytes": size}
        return _with_arguments(call, _arguments_of_start(candidate, policy, depth), arguments_lost=lost_arguments)
    if policy.unusable_arguments == "repair" and call.type != "custom":
        return _repaired(call, dict if policy.non_object_arguments == "tag" else (dict, list, str))
    return call


def _arguments_of_start(candidate: Candidate, policy: Policy, depth: int | None) -> str:
    """What the start of a call said, if that can be used; else an empty object."""
    text = candidate.start_arguments or ""
    is_usable = _is_json if policy.non_object_arguments == "accept" else _json.is_object
    return text if is_usable(text, depth) else "{}"


def _with_null(call: ToolCall) -> ToolCall:
    return _with_arguments(call, "null")


def _with_arguments(call: ToolCall, text: str, **marks: Any) -> ToolCall:
    """The call with other arguments; what came is kept beside them."""
    extra = {**call.extra, **marks, ORIGINAL_ARGUMENTS: call.raw_arguments}
    return msgspec.structs.replace(call, raw_arguments=text, status="complete", extra=extra)


def _repaired(call: ToolCall, kinds: type | tuple[type, ...]) -> ToolCall:
    """The call with its JSON closed, if it was a value of these *kinds* that merely ended too early."""
    from chunkfold.basis._json_closing import closed
    from chunkfold.partial_json import PartialJSON

    reader: PartialJSON[Any] = PartialJSON()
    reader.feed(call.raw_arguments)
    if reader.error is not None or not isinstance(reader.value, kinds):
        return call
    return _with_arguments(call, closed(call.raw_arguments), repaired=True)


def _is_whole_json(call: ToolCall, depth: int | None) -> bool:
    """True if the text is one JSON value of which nothing can be missing: a number that was cut is a number."""
    if call.type == "custom" or "$cut" in call.extra or not _is_json(call.raw_arguments, depth):
        return False
    return call.status != "truncated" or not call.raw_arguments[-1].isdigit()


def _is_json(text: str, depth: int | None) -> bool:
    try:
        _json.parse_arguments(text, depth)
    except ValueError:
        return False
    return True


def made_up_id(prefix: str, *facts: Any) -> str:
    """
    An id that is the same for the same facts, and as good as never for others. OpenAI takes no more than 40 characters,
    so a UUID is written without its hyphens.
    """
    import uuid

    return f"{prefix}_{uuid.uuid5(uuid.NAMESPACE_OID, _json.encode(list(facts))).hex}"


# From the one that says most to the one that says least.
_TELLING: tuple[FinishReason, ...] = (
    "error", "content_filter", "refusal", "length", "cancelled", "pause", "tool_calls", "unknown", "stop",
)  # fmt: skip


def chosen_finish(
    pairs: list[tuple[FinishReason, str | None]], policy: Policy
) -> tuple[FinishReason, str | None] | None:
    """The reason that stands, with the server's word, of those that were said."""
    if not pairs:
        return None
    if policy.finish == "first":
        return pairs[0]
    if policy.finish == "most_specific":
        return min(pairs, key=lambda pair: _TELLING.index(pair[0]))
    return pairs[-1]


def merged_name(before: str | None, name: str, policy: Policy) -> str:
    """The name of a part when another came. A dialect tells the whole name, pieces joined."""
    how = policy.name_merge
    if not isinstance(before, str) or not before or how == "join":  # under that name a part carries anything
        return name
    return before if how == "first" else name.removeprefix(before) or before


_COUNTS = Usage.__struct_fields__[:-1]


def merged_usage(before: Usage | None, new: Usage, policy: Policy) -> Usage:
    """The usage when *new* comes after *before*. A count that is not reported erases none."""
    how = policy.usage
    if how == "replace" or (before is None and how != "max"):
        return new
    before = before or Usage()
    if how == "latest" and new.raw and new.raw.keys() >= before.raw.keys():
        return new  # the usual case: the dialect has merged already
    if how == "sum":
        return msgspec.structs.replace(Usage.sum((before, new)), raw={**before.raw, **new.raw})
    counts: dict[str, Any] = {}
    for name in _COUNTS:
        old, now = getattr(before, name), getattr(new, name)
        if old is not None and now is not None and how == "max":
            counts[name] = max(old, now)
        else:
            counts[name] = old if now is None else now
    if (how == "max" or new.total_tokens is None) and None not in (counts["input_tokens"], counts["output_tokens"]):
        counts["total_tokens"] = counts["input_tokens"] + counts["output_tokens"]
    return Usage(**counts, raw={**before.raw, **new.raw})
