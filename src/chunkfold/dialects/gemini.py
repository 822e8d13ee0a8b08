"""
Google Gemini `streamGenerateContent`: whole responses one after the other, each with the parts that are new.

Parts are not numbered and have no marks. A text goes on in the next payload, but a signed part stands alone: its
thought signature is sent back on exactly that part, even if its text is empty. A function call is whole in its part,
unless its arguments are streamed as values with JSON paths. There is no end mark, and some servers put a finish reason
on every payload. Usage is a running total. Proxies and SDK objects spell the names in snake case.

Manual: docs/dialects/gemini.md. Reference: ai.google.dev/api/generate-content, cloud.google.com/vertex-ai.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.basis import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import error_in
from chunkfold.dialects._gemini_names import SNAKE, both, field, snake
from chunkfold.dialects._gemini_paths import StreamedCalls
from chunkfold.dialects._media import base64_bytes, base64_form, media_kind
from chunkfold.dialects._usage import Counts, summed, total
from chunkfold.dialects._words import choice_index, finish_reason, is_blank, is_real
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind


_TOP = both(
    "candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime", "error"
)  # fmt: skip
_WRAPPER = frozenset({"response", "error"})
_CANDIDATE = both("index", "content", "finishReason", "citationMetadata", "groundingMetadata", "logprobsResult")
_USUAL = frozenset({"index", "content"})
_CONTENT = frozenset({"parts"})
_PLAIN = frozenset({"text", "thought"})
_CALL = both("name", "id", "args", "partialArgs", "willContinue")
_TOOL_CALL = both("id", "args", "toolType")
_RESPONSE = frozenset({"id", "response"})
_MEDIA = both("mimeType", "data", "fileUri")
_CITATIONS = both("citations", "citationSources")
_TOP_TOKENS = both("topCandidates")
_TOKENS = both("chosenCandidates", "topCandidates")
# The zero of the enumeration, as the Gemini API and Vertex AI call it.
_NO_BLOCK = ("BLOCK_REASON_UNSPECIFIED", "BLOCKED_REASON_UNSPECIFIED")
# Facts that may be spelled in snake case.
_FACTS = frozenset({"usage_metadata", "model_version", "response_id", "create_time"})


class Gemini(Dialect):
    """Gemini's `generateContent` by the Gemini API, Vertex AI and compatible servers."""

    name: ClassVar[str] = "gemini"
    ends_with_body: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("text",)
    running_keys: ClassVar[tuple[str, ...]] = ("usageMetadata", "usage_metadata", "response.usageMetadata")
    # `finishReason` as the number of the proto enumeration; the two APIs number the later ones differently.
    words: ClassVar[Mapping[str, str]] = {
        "1": "stop",
        "2": "length",
        **dict.fromkeys(("3", "4", "6", "7", "8"), "content_filter"),
    }

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        payload = _unwrapped(payload)
        candidates = payload.get("candidates")
        if isinstance(candidates, list):
            first = candidates[0] if candidates else {}
            if not isinstance(first, dict) or not isinstance(first.get("content") or {}, dict):
                return NO
            return CERTAIN if first.keys() & {"content", "finishReason", "finish_reason"} else LIKELY
        if isinstance(field(payload, "promptFeedback"), dict):
            return CERTAIN
        usage = field(payload, "usageMetadata")
        return LIKELY if isinstance(usage, dict) and gemini_usage(usage).input_tokens is not None else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._streamed = StreamedCalls(writer)
        # By choice: the sound that goes on, the last finish reason.
        self._audio: dict[int, tuple[Slot, Any]] = {}
        self._reasons: dict[int, str] = {}
        self._cited: set[tuple[int, str]] = set()
        # Where the response stands in a payload, and whether a part of this one is a part whatever it holds.
        self._root: tuple[str, ...] = ()
        self._begun = self._is_whole = False
        self._id: Any = None

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        body = _unwrapped(payload)
        if body is not payload:
            self._root = ("response",)
            self.w.extra(self._root, {})
            self._response(body, frame)
            self.w.extras(payload, _WRAPPER)
        elif not _TOP.isdisjoint(payload):
            if self.is_error(payload, frame, *payload.keys() & _TOP):
                return
            self._root = ()
            self._response(body, frame)
        elif payload:
            self.strange(payload, frame, "payload")
            return
        error = error_in(payload)
        if error is None and body is not payload:
            error = error_in(body)
            if error is not None:
                self.w.extra((*self._root, "error"), None)  # where it stands
        if error is not None:
            self.w.error(error)

    def close(self) -> None:
        """
        If the server has left a streamed call open, its last word decides: after a plain stop the call is complete,
        else its text stays as it came.
        """
        self._streamed.close(self._has_stopped)

    def _has_stopped(self, choice: int) -> bool:
        return finish_reason(self._reasons.get(choice, ""), self.words) == "stop"

    def _response(self, payload: Mapping[str, Any], frame: Frame) -> None:
        w, root = self.w, self._root
        created, id_ = field(payload, "createTime"), field(payload, "responseId")
        # Only Vertex AI says when.
        vendor = "vertexai" if created else None
        if id_ != self._id and id_ and payload.get("candidates"):
            if self._id and self._reasons:
                self.tell_of_several("behind a finish reason the stream goes on to another; the response has both")
            # An id that changes while the answer goes on, as some proxies send it, tells nothing.
            self._id = id_ if self._id is None else ""
        w.message(id=id_, model=field(payload, "modelVersion"), created=created, vendor=vendor)
        if not self._begun or None in payload.values():
            self._begin(payload)
        for key in payload:
            if key in _FACTS:
                w.extra((*root, key), None)
        candidates = payload.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else [candidates]):
            if isinstance(candidate, dict):
                self._candidate(place, candidate, frame, *root, "candidates", place)
            else:
                w.unknown("candidate", candidate)
        feedback, usage = field(payload, "promptFeedback"), field(payload, "usageMetadata")
        if feedback is not None:
            self._prompt_feedback("promptFeedback" if "promptFeedback" in payload else "prompt_feedback", feedback)
        if usage is not None:
            self._usage(usage)
        w.extras(payload, _TOP, *root)
        self._begun, self._is_whole = True, False

    def _begin(self, payload: Mapping[str, Any]) -> None:
        """
        What only the first payload tells: a body that was not streamed has a finish reason, and facts may be none.
        """
        w, root = self.w, self._root
        w.blanks(payload, (), *root)
        if self._begun:
            return
        for name, fact in (("responseId", "id"), ("modelVersion", "model"), ("createTime", "created")):
            if field(payload, name) and not w.fact(fact):
                w.extra((*root, name if name in payload else SNAKE[name]), field(payload, name))
        candidates = payload.get("candidates")
        self._is_whole = isinstance(candidates, list) and any(
            isinstance(candidate, dict) and field(candidate, "finishReason") for candidate in candidates
        )

    def catch_up(self, totals: dict[str, Any]) -> None:
        """The totals of the last chunk, where those before differed in text and totals alone."""
        self._usage(totals)

    def _candidate(self, place: int, candidate: dict[str, Any], frame: Frame, *path: str | int) -> None:
        index = choice_index(candidate.get("index"), place)
        w = self.w
        at: tuple[str | int, ...] = (*self._root, "candidates", index)
        if "index" in candidate:
            w.extra((*at, "index"), candidate["index"])
        content = candidate.get("content")
        if isinstance(content, dict):
            if not content:
                w.extra((*at, "content"), {})
            self._content(index, content, frame, *path, "content")
        elif content:
            self._unknown(index, "content", content)
        for name, handler in METADATA.items() if not candidate.keys() <= _USUAL else ():
            for key in (name, SNAKE[name]):
                if candidate.get(key):
                    handler(self, index, candidate[key], (*at, key))
                elif candidate.get(key) is not None:
                    w.extra((*at, key), candidate[key])
        if None in candidate.values():
            w.blanks(candidate, (), *at)
        w.extras(candidate, _CANDIDATE, *at)

    def _content(self, choice: int, content: dict[str, Any], frame: Frame, *path: str | int) -> None:
        parts = content.get("parts")
        before: Kind | None = None
        for place, part in enumerate(parts if isinstance(parts, list) else [parts]):
            if isinstance(part, dict):
                before = self._part(choice, part, before, frame, *path, "parts", place)
            elif part:
                self._unknown(choice, "part", part)
        at: tuple[str | int, ...] = (*self._root, "candidates", choice, "content")
        if not all(content.values()):
            self.w.blanks(content, (), *at)
        self.w.extras(content, _CONTENT, *at)

    def _part(
        self, choice: int, part: dict[str, Any], before: Kind | None, frame: Frame, *path: str | int
    ) -> Kind | None:
        """
        One part. Gives the kind of its text, if more may go on it.

        A text goes on what the payload before ended with. But two texts of one payload, *before* and this one, are two.
        """
        kind: Kind = "reasoning" if part.get("thought") else "text"
        text = part.get("text")
        if self._audio and "inlineData" not in part and "inline_data" not in part:
            self._audio.pop(choice, None)
        if isinstance(text, str) and (len(part) == 1 or (kind == "reasoning" and part.keys() <= _PLAIN)):
            return self._text(choice, kind, text, before, None)
        names = [name for name in PARTS if name in part and not is_blank(part[name])]
        about, blank = _about(part, kind, names)
        if names:
            about.update(blank)
        for name in names:
            PARTS[name](self, choice, part[name], about, frame, *path, name)
        if isinstance(text, str) and (text or not names):
            return self._described_text(choice, kind, text, before, {} if names else about, blank)
        if not names and about.keys() == {"signature"}:
            return self._described_text(choice, kind, "", before, about, {**blank, "$absent": ["text"]})
        if not names and (about or text is not None):
            self._unknown(choice, "part", part)
        return None

    # The kinds of parts

    def _text(
        self, choice: int, kind: Kind, text: str, before: Kind | None, extra: dict[str, Any] | None
    ) -> Kind | None:
        if not text and not self._is_whole:
            return before
        w = self.w
        current = w.current(choice, kind) if before == kind else None
        if current is not None:
            w.stop(current)
        if text:
            w.append(choice, kind, text, extra=extra)
        else:
            w.start(choice, kind, extra=extra)
        return kind

    def _described_text(
        self, choice: int, kind: Kind, text: str, before: Kind | None, about: dict[str, Any], blank: dict[str, Any]
    ) -> Kind | None:
        """A text that has a signature or any other field that says something is a part of its own."""
        if not about:
            return self._text(choice, kind, text, before, blank)
        w = self.w
        signature = about.pop("signature", None)
        slot = w.start(choice, kind, extra=blank)
        w.delta(slot, text)
        w.update(slot, signature=signature, extra=about)
        w.stop(slot)
        return None

    def _function_call(self, choice: int, call: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A whole call; or the start, a piece or the end of one whose arguments are streamed."""
        if not isinstance(call, dict):
            self._unknown(choice, "functionCall", _as_sent(about, functionCall=call))
            return
        w = self.w
        args_key = "args" if call.get("args") or is_blank(call.get("arguments")) else "arguments"
        name, id_, args = call.get("name"), call.get("id"), call.get(args_key)
        pieces, goes_on = field(call, "partialArgs"), field(call, "willContinue")
        known = _CALL | {args_key}
        inner = {key: value for key, value in call.items() if key not in known or is_blank(value) or value is False}
        rest = _described(about, str(path[-1]), inner)
        told = {key: value for key, value in about.items() if not is_blank(value)}
        if not all(map(is_blank, inner.values())):
            told[str(path[-1])] = inner
        if not args:
            self._streamed.take_up(choice, id_)
        streamed = self._streamed.current(choice)
        if streamed is not None and not args and (id_ == streamed.slot.id if id_ else not name):
            w.update(streamed.slot, signature=told.pop("signature", None), extra=told)
        elif not (name or id_ or pieces or told) and is_blank(args):
            # The end of a call that has ended, or nothing at all.
            return
        else:
            self._streamed.leave(choice, id_)
            slot = w.start(choice, "tool_call", id=id_, name=name, tool_type="function", extra=rest)
            if args or not (pieces or goes_on):
                w.delta(slot, json_text(args, frame, *path, args_key))
                w.stop(slot)
                return
            if not name:
                w.diagnose("orphan_delta", "argument values for no open call", choice, slot.index)
            streamed = self._streamed.begin(slot)
        key = "partialArgs" if "partialArgs" in call else "partial_args"
        for place, piece in enumerate(pieces if isinstance(pieces, list) else [pieces]):
            if piece:
                w.delta(streamed.slot, self._streamed.take(streamed, piece, frame, *path, key, place))
        if not goes_on:
            self._streamed.complete(choice)

    def _code(self, choice: int, code: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """Code that the server runs: the arguments are the whole object."""
        id_ = code.get("id") if isinstance(code, dict) else None
        self._server_call(choice, id_, "code_execution", about, json_text(code, frame, *path), path[-1])

    def _tool_call(self, choice: int, call: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A call of one of the server's own tools."""
        if not isinstance(call, dict):
            self._unknown(choice, "toolCall", _as_sent(about, toolCall=call))
            return
        text = json_text(call.get("args"), frame, *path, "args")
        rest = _described(about, str(path[-1]), _rest(call, _TOOL_CALL))
        self._server_call(choice, call.get("id"), field(call, "toolType"), rest, text, path[-1])

    def _server_call(
        self, choice: int, id: Any, name: Any, extra: dict[str, Any], arguments: str, part_name: str | int
    ) -> None:
        w = self.w
        slot = w.start(choice, "server_tool_call", id=id, name=name, tool_type=str(part_name), extra=extra)
        w.delta(slot, arguments)
        w.stop(slot)

    def _code_result(self, choice: int, result: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        inner = result if isinstance(result, dict) else {}
        outcome = inner.get("outcome")
        failed = isinstance(outcome, str) and outcome not in ("OUTCOME_OK", "OUTCOME_UNSPECIFIED")
        extra = {**about, "content": result, "is_error": failed, "type": path[-1]}
        self.w.stop(self.w.start(choice, "server_tool_result", id=inner.get("id"), name="code_execution", extra=extra))

    def _tool_result(self, choice: int, result: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """`toolResponse` of one of the server's tools; `functionResponse` where the server called the function."""
        inner = result if isinstance(result, dict) else {"response": result}
        name = inner.get("name") or field(inner, "toolType")
        named = {key for key in ("name", "toolType", "tool_type") if inner.get(key) == name and name}
        rest = _described(about, str(path[-1]), _rest(inner, _RESPONSE | set(sorted(named)[:1])))
        extra = {**rest, "content": inner.get("response"), "type": path[-1]}
        self.w.stop(self.w.start(choice, "server_tool_result", id=inner.get("id"), name=name, extra=extra))

    def _media(self, choice: int, media: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """Bytes, whole but for sound, which comes in many parts; or the address of a file."""
        data = base64_bytes(media.get("data", "")) if isinstance(media, dict) else None
        if data is None:
            self._unknown(choice, str(path[-1]), _as_sent(about, **{str(path[-1]): media}))
            return
        w = self.w
        media_type, url = field(media, "mimeType"), field(media, "fileUri")
        inner = _rest(media, _MEDIA)
        inner |= {key: value for key, value in media.items() if key in _MEDIA and not isinstance(value, str)}
        rest = _described(about, str(path[-1]), inner)
        is_plain = all(map(is_blank, (*about.values(), *inner.values())))
        slot, type_before = self._audio.pop(choice, (None, None))
        # Two sounds of one payload are two.
        if slot is None or not is_plain or media_type != type_before or path[-2] != 0:
            where = {"media_type": media_type, "url": url, "$form": base64_form(media.get("data"))}
            extra = {**rest, **{key: value for key, value in where.items() if value and isinstance(value, str)}}
            slot = w.start(choice, media_kind(media_type), extra=extra)
        w.data(slot, data)
        if slot.kind == "audio" and data and is_plain:
            self._audio[choice] = (slot, media_type)
        else:
            w.stop(slot)

    def _unknown(self, choice: int, name: str, payload: Any) -> None:
        """Carry what is not understood, at its place in the choice."""
        fields = payload if isinstance(payload, dict) else {"value": payload}
        self.w.stop(self.w.start(choice, "unknown", name=name, extra=fields))

    # Beside the parts

    def _finish(self, choice: int, reason: Any, at: tuple[str | int, ...]) -> None:
        """
        Old servers and some proxies say STOP on every payload: the last word stands, and reading goes on. The zero of
        the enumeration, which some encoders write out, is the last word only if there was no other.
        """
        if reason == "FINISH_REASON_UNSPECIFIED" and choice in self._reasons:
            return
        if at[-1] != "finishReason" or not is_real(reason):
            self.w.extra(at, None if is_real(reason) else reason)
        if type(reason) is int:
            reason = _json.encode(reason)
        if is_real(reason):
            self._reasons[choice] = reason
            self.w.finish(choice, reason)

    def _prompt_feedback(self, key: str, feedback: Any) -> None:
        """
        The prompt was judged; if it was blocked there is no answer, and that is the reason. A reason that is not
        specified, which some proxies write out, is none.
        """
        w, at = self.w, (*self._root, key)
        if not isinstance(feedback, dict) or not feedback:
            w.extra(at, feedback)
            return
        reason = field(feedback, "blockReason")
        if reason and type(reason) in (str, int) and reason not in _NO_BLOCK:
            w.finish(0, reason if isinstance(reason, str) else _json.encode(reason), "content_filter")
        w.extras(feedback, frozenset(), *at)

    def _usage(self, usage: Any) -> None:
        """Running totals. Vertex AI sends objects without any count in between, which are no usage yet."""
        w = self.w
        if not isinstance(usage, dict) or not usage:
            w.extra((*self._root, "usageMetadata"), usage)
        elif w.has_usage or any(map(_is_count, usage.values())):
            w.usage(usage, gemini_usage)
        else:
            w.extras(usage, frozenset(), *self._root, "usageMetadata")

    def _citation(self, choice: int, metadata: Any, at: tuple[str | int, ...]) -> None:
        """New citations each time; repeats are left out. Old servers call them `citationSources`."""
        w = self.w
        if not isinstance(metadata, dict):
            w.extra(at, metadata)
            return
        for key in metadata:
            if key not in _CITATIONS or not metadata[key]:
                continue
            items = metadata[key] if isinstance(metadata[key], list) else [metadata[key]]
            w.annotations(choice, None, items)
            if items is not metadata[key]:
                w.extra((*at, key), metadata[key])
                continue
            new = [item for item in items if (choice, _json.identity(item)) not in self._cited]
            self._cited.update((choice, _json.identity(item)) for item in new)
            for item in new:
                w.extra((*at, key, "-"), item)
        w.blanks(metadata, (), *at)
        w.extras(metadata, _CITATIONS, *at)

    def _grounding(self, choice: int, metadata: Any, at: tuple[str | int, ...]) -> None:
        """Sources and what they support: a later value of a field replaces. The sources are citations too."""
        w = self.w
        if not isinstance(metadata, dict):
            w.extra(at, metadata)
            return
        chunks = field(metadata, "groundingChunks")
        w.annotations(choice, None, chunks if isinstance(chunks, list) else [])
        w.extras(metadata, frozenset(), *at)

    def _logprobs(self, choice: int, result: Any, at: tuple[str | int, ...]) -> None:
        """The tokens that were chosen, each with its rivals, which the server has in a list beside."""
        w = self.w
        chosen = field(result, "chosenCandidates") if isinstance(result, dict) else None
        if not isinstance(chosen, list):
            w.extra(at, result)
            return
        top = field(result, "topCandidates")
        items = []
        for token, rivals in zip_longest(chosen, top if isinstance(top, list) else ()):
            item = dict(token) if isinstance(token, dict) else {"value": token}
            if rivals is not None:
                item["topCandidates"] = rivals["candidates"] if _is_list_of_rivals(rivals) else rivals
            items.append(item)
        w.logprobs(choice, items)
        for key in [key for key in result if key in _TOKENS]:
            is_told = key not in _TOP_TOKENS or (isinstance(top, list) and bool(top))
            w.extra((*at, key), None if is_told else result[key])
        w.extras(result, _TOKENS, *at)


def _is_count(value: Any) -> bool:
    """True for a number, also as protocol buffers write those of 64 bits."""
    return type(value) in (int, float) or (isinstance(value, str) and value.isdecimal())


def _unwrapped(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response itself, which Code Assist wraps in an object with a trace id beside it."""
    inner = payload.get("response")
    if isinstance(inner, dict) and "type" not in payload and inner.keys() & _TOP:
        return inner
    return payload


def _rest(mapping: Mapping[str, Any], known: frozenset[str] | set[str]) -> dict[str, Any]:
    """The fields that are kept as sent: those not in *known*, and those that say nothing."""
    return {key: value for key, value in mapping.items() if key not in known or is_blank(value)}


def _described(about: dict[str, Any], field: str, inner: dict[str, Any]) -> dict[str, Any]:
    """The extra of a part: the fields beside its content, those inside it, and how the content is spelled."""
    extra = {**about, field: inner} if inner else dict(about)
    if field in _SNAKE_PARTS:
        extra["$field"] = field
    return extra


def _as_sent(about: dict[str, Any], **content: Any) -> dict[str, Any]:
    """A part that is not understood."""
    part = {**content, **about}
    if "signature" in part:
        part["thought_signature" if "thought_signature" in part else "thoughtSignature"] = part.pop("signature")
    return part


def _is_list_of_rivals(rivals: Any) -> bool:
    return isinstance(rivals, dict) and rivals.keys() == {"candidates"} and isinstance(rivals["candidates"], list)


def _about(part: dict[str, Any], kind: Kind, names: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """
    What a part says beside its content: its signature, and fields that are kept as sent; and fields that say nothing.
    """
    about, blank = {}, {}
    for key, value in part.items():
        if value is None or (key != "text" and is_blank(value)):
            blank[key] = value
        elif key in _SIGNATURE and isinstance(value, str):
            about["signature"] = value
            if key == "thought_signature":
                blank[key] = None
        elif key not in _PART or (key == "thought" and kind == "reasoning" and names):
            about[key] = value
        elif (key == "thought" and kind == "text") or (key == "text" and not value and names):
            blank[key] = value
    return about, blank


def gemini_usage(raw: dict[str, Any]) -> Usage:
    """
    Gemini's usage: thoughts stand beside the tokens of the answer, what tools read beside those of the prompt; cached
    tokens are in the prompt.
    """
    prompt, tools, answer, thoughts, whole, cached = _counts(raw)
    read = prompt if tools is None else summed(prompt, tools)
    written = answer if thoughts is None else summed(answer, thoughts)
    return Usage(read, written, total(None, read, written) if whole is None else whole, cached, None, thoughts, raw)


_counts = Counts(
    *(
        (name, snake(name))
        for name in (
            "promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount",
            "totalTokenCount", "cachedContentTokenCount",
        )
    )
)  # fmt: skip
METADATA: dict[str, Callable[[Gemini, int, Any, tuple[str | int, ...]], None]] = {
    "finishReason": Gemini._finish,
    "citationMetadata": Gemini._citation,
    "groundingMetadata": Gemini._grounding,
    "logprobsResult": Gemini._logprobs,
}

_NAMED: dict[str, Callable[..., None]] = {
    "functionCall": Gemini._function_call,
    "executableCode": Gemini._code,
    "codeExecutionResult": Gemini._code_result,
    "toolCall": Gemini._tool_call,
    "toolResponse": Gemini._tool_result,
    "functionResponse": Gemini._tool_result,
    "inlineData": Gemini._media,
    "fileData": Gemini._media,
}
_SNAKE_PARTS = frozenset(snake(name) for name in _NAMED)
PARTS = {**_NAMED, **{snake(name): handler for name, handler in _NAMED.items()}}
_PART = frozenset({*PARTS, "text", "thought"})
_SIGNATURE = frozenset({"thoughtSignature", "thought_signature"})

Gemini.payloads = ("candidates", "promptFeedback", "usageMetadata", "error", "text", *_NAMED, *METADATA)
DIALECT = Gemini
