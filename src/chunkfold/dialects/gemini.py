"""
Google Gemini `streamGenerateContent`: whole responses one after the other, each with the parts that are new.

Parts are not numbered and have no marks. A text goes on in the next payload, but a signed part stands alone: its
thought signature is sent back on exactly that part, even if its text is empty. A function call is whole in its part,
unless its arguments are streamed as values with JSON paths. There is no end mark, and some servers put a finish reason
on every payload. Usage is a running total. Proxies and SDK objects spell the names in snake case.

Manual: docs/dialects/gemini.md. Reference: ai.google.dev/api/generate-content, cloud.google.com/vertex-ai.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._errors import error_in
from chunkfold.dialects._media import base64_bytes, media_kind
from chunkfold.dialects._usage import count, total
from chunkfold.dialects._words import finish_reason, is_real
from chunkfold.dialects._writer import json_text
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Slot, Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _both(*names: str) -> frozenset[str]:
    """The names in both spellings."""
    return frozenset((*names, *map(_snake, names)))


_TOP = _both(
    "candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime", "error"
)  # fmt: skip
_WRAPPER = frozenset({"response", "error"})
_CANDIDATE = _both("index", "content", "finishReason", "citationMetadata", "groundingMetadata", "logprobsResult")
_CONTENT = frozenset({"parts"})
_PLAIN = frozenset({"text", "thought"})
_CALL = _both("name", "id", "args", "partialArgs", "willContinue")
_PIECE = _both("jsonPath", "stringValue", "numberValue", "boolValue", "nullValue", "willContinue")
_TOOL = _both("id", "name", "args", "response", "toolType")
_MEDIA = _both("mimeType", "data", "fileUri")
_CITATIONS = _both("citations", "citationSources")
_TOKENS = _both("chosenCandidates", "topCandidates")


def _field(mapping: Mapping[str, Any], name: str) -> Any:
    """The field of that name, in either spelling."""
    value = mapping.get(name)
    return mapping.get(_SNAKE[name]) if value is None else value


class Gemini(Dialect):
    """Gemini's `generateContent` by the Gemini API, Vertex AI and compatible servers."""

    name: ClassVar[str] = "gemini"
    ends_with_body: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("text",)
    running_keys: ClassVar[tuple[str, ...]] = ("candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
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
        if isinstance(_field(payload, "promptFeedback"), dict):
            return CERTAIN
        usage = _field(payload, "usageMetadata")
        return LIKELY if isinstance(usage, dict) and gemini_usage(usage).input_tokens is not None else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._usage_seen = False
        # By choice: the call whose arguments are being streamed, the sound that goes on, the last finish reason.
        self._streamed: dict[int, _StreamedCall] = {}
        self._audio: dict[int, tuple[Slot, Any]] = {}
        self._reasons: dict[int, str] = {}
        self._cited: set[tuple[int, str]] = set()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        body = _unwrapped(payload)
        if body is not payload:
            self._response(body, frame, "response")
            self.w.extras(payload, _WRAPPER)
        elif payload.keys() & _TOP:
            self._response(body, frame)
        elif payload:
            self.w.unknown("payload", payload)
        error = error_in(payload) or error_in(body)
        if error is not None:
            self.w.error(error)

    def close(self) -> None:
        """
        If the server has left a streamed call open, its last word decides: after a plain stop the call is complete,
        else its text stays as it came.
        """
        for choice in list(self._streamed):
            if finish_reason(self._reasons.get(choice, ""), self.words) == "stop":
                self._complete(choice)

    def _response(self, payload: Mapping[str, Any], frame: Frame, *path: str) -> None:
        w = self.w
        if payload.keys() != {"error"}:
            created = _field(payload, "createTime")
            # Only Vertex AI says when.
            vendor = "vertexai" if created else None
            id_, model = _field(payload, "responseId"), _field(payload, "modelVersion")
            w.message(id=id_, model=model, created=created, vendor=vendor)
        candidates = payload.get("candidates")
        for place, candidate in enumerate(candidates if isinstance(candidates, list) else [candidates]):
            if isinstance(candidate, dict):
                self._candidate(place, candidate, frame, *path, "candidates", place)
            elif candidate is not None:
                w.unknown("candidate", candidate)
        feedback, usage = _field(payload, "promptFeedback"), _field(payload, "usageMetadata")
        if feedback is not None:
            self._prompt_feedback(feedback)
        if usage is not None:
            self._usage(usage)
        w.extras(payload, _TOP)

    def catch_up(self, payload: dict[str, Any]) -> None:
        """The totals of the last chunk, where those before differed in text and totals alone."""
        usage = _field(_unwrapped(payload), "usageMetadata")
        if usage is not None:
            self._usage(usage)

    def _candidate(self, place: int, candidate: dict[str, Any], frame: Frame, *path: str | int) -> None:
        index = candidate.get("index")
        index = index if type(index) is int and index >= 0 else place
        content = candidate.get("content")
        if isinstance(content, dict):
            self._content(index, content, frame, *path, "content")
        elif content:
            self._unknown(index, "content", content)
        for name, handler in METADATA.items():
            value = _field(candidate, name)
            if value:
                handler(self, index, value)
        self.w.extras(candidate, _CANDIDATE, "candidates", index)

    def _content(self, choice: int, content: dict[str, Any], frame: Frame, *path: str | int) -> None:
        parts = content.get("parts")
        before: Kind | None = None
        for place, part in enumerate(parts if isinstance(parts, list) else [parts]):
            if isinstance(part, dict):
                before = self._part(choice, part, before, frame, *path, "parts", place)
            elif part:
                self._unknown(choice, "part", part)
        self.w.extras(content, _CONTENT, "candidates", choice, "content")

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
        if isinstance(text, str) and part.keys() <= _PLAIN:
            return self._text(choice, kind, text, before)
        names = [name for name in PARTS if part.get(name) is not None]
        about = _about(part)
        if names and kind == "reasoning":
            about["thought"] = part["thought"]
        for name in names:
            PARTS[name](self, choice, part[name], about, frame, *path, name)
        if isinstance(text, str) and (text or not names):
            return self._described_text(choice, kind, text, before, {} if names else about)
        if not names and about.keys() == {"signature"}:
            return self._described_text(choice, kind, "", before, about)
        if not names and (about or text is not None):
            self._unknown(choice, "part", part)
        return None

    # The kinds of parts

    def _text(self, choice: int, kind: Kind, text: str, before: Kind | None) -> Kind | None:
        if not text:
            return before
        w = self.w
        current = w.current(choice, kind) if before == kind else None
        if current is not None:
            w.stop(current)
        w.append(choice, kind, text)
        return kind

    def _described_text(
        self, choice: int, kind: Kind, text: str, before: Kind | None, about: dict[str, Any]
    ) -> Kind | None:
        """A text that has a signature or any other field is a part of its own."""
        if not about:
            return self._text(choice, kind, text, before)
        w = self.w
        signature = about.pop("signature", None)
        slot = w.start(choice, kind)
        w.delta(slot, text)
        w.update(slot, signature=signature, extra=about)
        w.stop(slot)
        return None

    def _function_call(self, choice: int, call: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A whole call; or the start, a piece or the end of one whose arguments are streamed."""
        if not isinstance(call, dict):
            self._unknown(choice, "functionCall", {"functionCall": call, **about})
            return
        w = self.w
        name, id_, args = call.get("name"), call.get("id"), call.get("args")
        pieces, goes_on = _field(call, "partialArgs"), _field(call, "willContinue")
        rest = {**about, **_rest(call, _CALL)}
        streamed = self._streamed.get(choice)
        if streamed is not None and not args and (id_ == streamed.slot.id if id_ else not name):
            w.update(streamed.slot, signature=rest.pop("signature", None), extra=rest)
        elif not (name or id_ or pieces or rest) and args is None:
            # The end of a call that has ended, or nothing at all.
            return
        else:
            self._complete(choice)
            slot = w.start(choice, "tool_call", id=id_, name=name, tool_type="function", extra=rest)
            if args or not (pieces or goes_on):
                w.delta(slot, json_text(args, frame.data, *path, "args"))
                w.stop(slot)
                return
            if not name:
                w.diagnose("orphan_delta", "argument values for no open call", choice, slot.index)
            streamed = self._streamed[choice] = _StreamedCall(slot)
            # Begun at once: a call cut here must not look like one without arguments.
            w.delta(slot, "{")
        key = "partialArgs" if "partialArgs" in call else "partial_args"
        for place, piece in enumerate(pieces if isinstance(pieces, list) else [pieces]):
            if piece:
                w.delta(streamed.slot, self._piece(streamed, piece, frame, *path, key, place))
        if not goes_on:
            self._complete(choice)

    def _piece(self, call: _StreamedCall, piece: Any, frame: Frame, *path: str | int) -> str:
        """The argument text that a value with its JSON path adds."""
        steps = call.steps(_field(piece, "jsonPath")) if isinstance(piece, dict) else None
        if steps and piece.keys() <= _PIECE:
            text, number, flag = (_field(piece, name) for name in ("stringValue", "numberValue", "boolValue"))
            if isinstance(text, str):
                return call.add(steps, _json.encode(text)[1:-1], is_text=True)
            if type(number) in (int, float):
                return call.add(steps, json_text(number, frame.data, *path, "numberValue"))
            if isinstance(flag, bool):
                return call.add(steps, "true" if flag else "false")
            if "nullValue" in piece or piece.get("null_value") is not None:
                return call.add(steps, "null")
            if text is None and number is None and flag is None:
                return ""
        call.is_readable = False
        self._unknown(call.slot.choice, "partialArgs", piece)
        return ""

    def _complete(self, choice: int) -> None:
        """The streamed call of the choice, if there is one, is complete: close what is open in its text."""
        call = self._streamed.pop(choice, None)
        if call is None:
            return
        w, slot = self.w, call.slot
        whole = "" if call.in_order else call.whole()
        if not call.is_readable or not (call.in_order or whole):
            w.diagnose("bad_json_path", "the arguments cannot be put together from their paths", choice, slot.index)
        elif call.in_order:
            w.delta(slot, call.closing())
        else:
            w.restate_call(slot, whole)
        w.stop(slot)

    def _code(self, choice: int, code: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """Code that the server runs: the arguments are the whole object."""
        id_ = code.get("id") if isinstance(code, dict) else None
        self._server_call(choice, id_, "code_execution", about, json_text(code, frame.data, *path), path[-1])

    def _tool_call(self, choice: int, call: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A call of one of the server's own tools."""
        if not isinstance(call, dict):
            self._unknown(choice, "toolCall", {"toolCall": call, **about})
            return
        text = json_text(call.get("args"), frame.data, *path, "args")
        rest = {**about, **_rest(call, _TOOL)}
        self._server_call(choice, call.get("id"), _field(call, "toolType"), rest, text, path[-1])

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
        extra = {**about, **_rest(inner, _TOOL), "content": inner.get("response"), "type": path[-1]}
        name = inner.get("name") or _field(inner, "toolType")
        self.w.stop(self.w.start(choice, "server_tool_result", id=inner.get("id"), name=name, extra=extra))

    def _media(self, choice: int, media: Any, about: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """Bytes, whole but for sound, which comes in many parts; or the address of a file."""
        data = base64_bytes(media.get("data", "")) if isinstance(media, dict) else None
        if data is None:
            self._unknown(choice, str(path[-1]), {str(path[-1]): media, **about})
            return
        w = self.w
        media_type, url = _field(media, "mimeType"), _field(media, "fileUri")
        rest = {**about, **_rest(media, _MEDIA)}
        slot, type_before = self._audio.pop(choice, (None, None))
        if slot is None or rest or media_type != type_before:
            where = {"media_type": media_type, "url": url}
            extra = {**rest, **{key: value for key, value in where.items() if isinstance(value, str)}}
            slot = w.start(choice, media_kind(media_type), extra=extra)
        w.data(slot, data)
        if slot.kind == "audio" and data and not rest:
            self._audio[choice] = (slot, media_type)
        else:
            w.stop(slot)

    def _unknown(self, choice: int, name: str, payload: Any) -> None:
        """Carry what is not understood, at its place in the choice."""
        fields = payload if isinstance(payload, dict) else {"value": payload}
        self.w.stop(self.w.start(choice, "unknown", name=name, extra=fields))

    # Beside the parts

    def _finish(self, choice: int, reason: Any) -> None:
        """Old servers and some proxies say STOP on every payload: the last word stands, and reading goes on."""
        if not is_real(reason):
            self.w.extra(("candidates", choice, "finishReason"), reason)
        if type(reason) is int:
            reason = str(reason)
        if is_real(reason):
            self._reasons[choice] = reason
            self.w.finish(choice, reason)

    def _prompt_feedback(self, feedback: Any) -> None:
        """The prompt was judged; if it was blocked there is no answer, and that is the reason."""
        w = self.w
        if not isinstance(feedback, dict):
            w.extra(("promptFeedback",), feedback)
            return
        reason = _field(feedback, "blockReason")
        if reason and type(reason) in (str, int):
            w.finish(0, str(reason), "content_filter")
        w.extras(feedback, frozenset(), "promptFeedback")

    def _usage(self, usage: Any) -> None:
        """Running totals. Vertex AI sends objects without any count in between, which are no usage yet."""
        if not isinstance(usage, dict):
            self.w.extra(("usageMetadata",), usage)
        elif self._usage_seen or any(type(value) in (int, float) for value in usage.values()):
            self._usage_seen = True
            self.w.usage(usage, gemini_usage)
        else:
            self.w.extras(usage, frozenset(), "usageMetadata")

    def _citation(self, choice: int, metadata: Any) -> None:
        """New citations each time; repeats are left out. Old servers call them `citationSources`."""
        w = self.w
        if not isinstance(metadata, dict):
            w.extra(("candidates", choice, "citationMetadata"), metadata)
            return
        for key in metadata.keys() & _CITATIONS:
            items = metadata[key] if isinstance(metadata[key], list) else [metadata[key]]
            w.annotations(choice, None, items)
            for item in items:
                known = len(self._cited)
                self._cited.add((choice, _json.encode(item)))
                if len(self._cited) > known:
                    w.extra(("candidates", choice, "citationMetadata", key, "-"), item)
        w.extras(metadata, _CITATIONS, "candidates", choice, "citationMetadata")

    def _grounding(self, choice: int, metadata: Any) -> None:
        """Sources and what they support: a later value of a field replaces. The sources are citations too."""
        w = self.w
        if not isinstance(metadata, dict):
            w.extra(("candidates", choice, "groundingMetadata"), metadata)
            return
        chunks = _field(metadata, "groundingChunks")
        w.annotations(choice, None, chunks if isinstance(chunks, list) else [])
        w.extras(metadata, frozenset(), "candidates", choice, "groundingMetadata")

    def _logprobs(self, choice: int, result: Any) -> None:
        """The tokens that were chosen, each with its rivals, which the server has in a list beside."""
        w = self.w
        chosen = _field(result, "chosenCandidates") if isinstance(result, dict) else None
        if not isinstance(chosen, list):
            w.extra(("candidates", choice, "logprobsResult"), result)
            return
        top = _field(result, "topCandidates")
        items = []
        for token, rivals in zip_longest(chosen, top if isinstance(top, list) else ()):
            item = dict(token) if isinstance(token, dict) else {"value": token}
            if rivals is not None:
                item["topCandidates"] = rivals.get("candidates", rivals) if isinstance(rivals, dict) else rivals
            items.append(item)
        w.logprobs(choice, items)
        w.extras(result, _TOKENS, "candidates", choice, "logprobsResult")


def _unwrapped(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response itself, which Code Assist wraps in an object with a trace id beside it."""
    inner = payload.get("response")
    if isinstance(inner, dict) and "type" not in payload and inner.keys() & _TOP:
        return inner
    return payload


def _rest(mapping: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The fields that are kept as sent."""
    return {key: value for key, value in mapping.items() if key not in known and value is not None}


def _about(part: dict[str, Any]) -> dict[str, Any]:
    """What a part says beside its content: its signature, and fields that are kept as sent."""
    about = {key: value for key, value in part.items() if key not in _PART and value is not None}
    for key in ("thoughtSignature", "thought_signature"):
        if isinstance(about.get(key), str):
            signature = about.pop(key)
            if signature:
                about["signature"] = signature
    return about


def gemini_usage(raw: dict[str, Any]) -> Usage:
    """
    Gemini's usage: thoughts stand beside the tokens of the answer, what tools read beside those of the prompt; cached
    tokens are in the prompt.
    """
    prompt = count(raw, "promptTokenCount", "prompt_token_count")
    tools = count(raw, "toolUsePromptTokenCount", "tool_use_prompt_token_count")
    answer = count(raw, "candidatesTokenCount", "candidates_token_count")
    thoughts = count(raw, "thoughtsTokenCount", "thoughts_token_count")
    read, written = total(None, prompt, tools), total(None, answer, thoughts)
    return Usage(
        input_tokens=read,
        output_tokens=written,
        total_tokens=total(count(raw, "totalTokenCount", "total_token_count"), read, written),
        cached_input_tokens=count(raw, "cachedContentTokenCount", "cached_content_token_count"),
        reasoning_tokens=thoughts,
        raw=raw,
    )


# RFC 9535: `.name`, `[0]`, `['name']`, `["name"]`.
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(?:([0-9]{1,9})|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""", re.DOTALL)
# No arguments that anybody meant are deeper.
_DEEPEST = 128


class _StreamedCall:
    """
    A call whose arguments come as values with JSON paths.

    Models write from front to back, so the text of the arguments grows with each value. Should a path go back, the text
    is put together from all values at the end.
    """

    __slots__ = ("_open", "_path", "_path_steps", "_steps", "_values", "in_order", "is_readable", "slot")

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.in_order = True
        # False once a value could not be understood: then the arguments are not known.
        self.is_readable = True
        # The JSON text of each value in pieces; of a string without the closing quote.
        self._values: dict[tuple[str | int, ...], list[str]] = {}
        # The steps to the last value, and the containers on the way: whether it is an array, and what is in it.
        self._steps: tuple[str | int, ...] = ()
        self._open: list[tuple[bool, set[str | int]]] = [(False, set())]
        self._path: str | None = None
        self._path_steps: tuple[str | int, ...] = ()

    def steps(self, path: Any) -> tuple[str | int, ...] | None:
        """The steps of a JSON path; `None` if it is none that leads to one value."""
        if path is not None and path == self._path:
            return self._path_steps
        if not isinstance(path, str) or not path.startswith("$"):
            return None
        steps: list[str | int] = []
        at = 1
        while at < len(path):
            match = _STEP.match(path, at)
            if match is None or len(steps) == _DEEPEST:
                return None
            name, number, single, double = match.groups()
            steps.append(int(number) if number else name or _unescaped(single, double))
            at = match.end()
        self._path, self._path_steps = path, tuple(steps)
        return self._path_steps

    def add(self, steps: tuple[str | int, ...], literal: str, *, is_text: bool = False) -> str:
        """Take a value, or more of a string; the text that it adds to the arguments."""
        known = self._values.get(steps)
        begun = '"' + literal if is_text else literal
        if known is None:
            self._values[steps] = [begun]
            way = self._way_to(steps) if self.in_order else None
            self.in_order = way is not None
            return "" if way is None else way + begun
        if is_text and known[0][0] == '"':
            known.append(literal)
            self.in_order = self.in_order and steps == self._steps
            return literal if self.in_order else ""
        if known != [begun]:
            self._values[steps] = [begun]
            self.in_order = False
        return ""

    def closing(self) -> str:
        """What closes everything that is open."""
        return self._closed_to(0)

    def whole(self) -> str:
        """The text put together from all values; `""` if they contradict each other."""
        root: dict[str | int, Any] = {}
        for steps, pieces in self._values.items():
            node: Any = root
            for step in steps[:-1]:
                node = node.setdefault(step, {}) if isinstance(node, dict) else None
            if not isinstance(node, dict) or steps[-1] in node:
                return ""
            text = "".join(pieces)
            node[steps[-1]] = text + '"' if text[0] == '"' else text
        return _written(root)

    def _way_to(self, steps: tuple[str | int, ...]) -> str | None:
        """What closes and opens between the last value and the next; `None` if the path goes back or jumps."""
        shared = 0
        for last, step in zip(self._steps[:-1], steps[:-1], strict=False):
            if last != step:
                break
            shared += 1
        text = self._closed_to(shared + 1)
        del self._open[shared + 1 :]
        for place in range(shared, len(steps)):
            step = steps[place]
            is_array, seen = self._open[-1]
            if is_array != isinstance(step, int) or step in seen or (is_array and step != len(seen)):
                return None
            text += ("," if seen else "") + ("" if is_array else _json.encode(step) + ":")
            seen.add(step)
            if place + 1 < len(steps):
                is_array = isinstance(steps[place + 1], int)
                self._open.append((is_array, set()))
                text += "[" if is_array else "{"
        self._steps = steps
        return text

    def _closed_to(self, depth: int) -> str:
        """What closes the last value and the containers that are deeper than *depth*."""
        quote = '"' if self._steps and self._values[self._steps][0][0] == '"' else ""
        return quote + "".join("]" if is_array else "}" for is_array, _ in reversed(self._open[depth:]))


def _unescaped(single: str | None, double: str) -> str:
    """A quoted name of a JSON path."""
    if single is not None:
        double = single.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(_json.decode(f'"{double}"'.encode("utf-8", "surrogatepass"))[0])
    except ValueError:
        return double


def _written(node: Any) -> str:
    """JSON text of nested values; `""` if an object has numbers for names or an array has gaps."""
    if isinstance(node, str):
        return node
    if not any(isinstance(step, str) for step in node):
        items = [_written(node[place]) if place in node else "" for place in range(len(node))]
        return "[" + ",".join(items) + "]" if all(items) else ""
    if any(isinstance(step, int) for step in node):
        return ""
    items = [_json.encode(name) + ":" + text if (text := _written(value)) else "" for name, value in node.items()]
    return "{" + ",".join(items) + "}" if all(items) else ""


METADATA: dict[str, Callable[[Gemini, int, Any], None]] = {
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
PARTS = {**_NAMED, **{_snake(name): handler for name, handler in _NAMED.items()}}
_PART = frozenset({*PARTS, "text", "thought"})

_SNAKE = {
    name: _snake(name)
    for name in (
        *METADATA, "promptFeedback", "blockReason", "usageMetadata", "modelVersion", "responseId", "createTime",
        "groundingChunks", "chosenCandidates", "topCandidates", "partialArgs", "willContinue", "jsonPath",
        "stringValue", "numberValue", "boolValue", "mimeType", "fileUri", "toolType",
    )
}  # fmt: skip

Gemini.payloads = ("candidates", "promptFeedback", "usageMetadata", "error", "text", *_NAMED, *METADATA)
DIALECT = Gemini
