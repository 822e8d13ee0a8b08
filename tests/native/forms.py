"""What the tests of native bodies share: the payloads of a stream, and whether a body has lost any of their fields."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import Any

from chunkfold import dialects, native
from chunkfold.dialects._words import is_ping
from chunkfold.folding._folder import Folder
from chunkfold.native._build import LAST


@contextmanager
def overheard(seen: list[tuple[str, dict[str, Any]]]):
    """While it lasts every payload that a dialect decodes is copied to *seen*, with the dialect's name."""
    originals = []
    for name in dialects.names():
        cls = dialects.get(name)
        if "decode" not in vars(cls):
            continue
        original = cls.decode

        def decode(self, payload, frame, original=original):
            if not any(payload is known for _, known in depth):
                seen.append((type(self).name, copy.deepcopy(payload)))
            depth.append((self, payload))
            before = len(self.w.out)
            try:
                original(self, payload, frame)
            finally:
                depth.pop()
            if any(event.type == "message_reset" and event.from_part == 0 for event in self.w.out[before:]):
                # What came before is void.
                del seen[:-1]

        originals.append((cls, original))
        cls.decode = decode
    depth: list[Any] = []
    try:
        yield seen
    finally:
        for cls, original in originals:
            cls.decode = original


def fold_and_overhear(body: Any, dialect: str = "auto") -> tuple[Any, list[dict[str, Any]]]:
    """The response of a body, and its payloads in order. Events are made, so that no frame is read by its likeness."""
    with overheard([]) as seen:
        folder = Folder(dialect)
        folder.feed(body)
        response = folder.close()
    return response, [payload for _, payload in seen]


def is_blank(value: Any) -> bool:
    return value is None or (value in ("", [], {}) and not isinstance(value, (bool, int, float)))


# Stands in a path for a dot that is in a key.
DOT = "\1"


def leaves(value: Any, pattern: str = "", place: tuple[Any, ...] = ()):
    """Each leaf as its path with `[]` for positions, its exact place, and its value. Blank containers are leaves."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            step = key.replace(".", DOT)
            yield from leaves(item, f"{pattern}.{step}" if pattern else step, (*place, key))
    elif isinstance(value, list) and value:
        for position, item in enumerate(value):
            number = item.get("index", position) if isinstance(item, dict) else position
            yield from leaves(item, pattern + "[]", (*place, f"[{number!r}]"))
    else:
        yield pattern, place, value


def steps(pattern: str) -> list[str]:
    """`choices[].message` as `choices`, `[]`, `message`."""
    return [step for name in pattern.split(".") for step in name.replace("[]", "\0[]").split("\0") if step]


MISSING = object()


def found_at(body: Any, path: list[str], numbers: list[str]) -> list[Any]:
    """The values at *path* of *body*: of a list, those of the item with the payload's number, else of all."""
    if not path:
        return [body]
    step, *rest = path
    step = step.replace(DOT, ".")
    if step != "[]":
        return found_at(body[step], rest, numbers) if isinstance(body, dict) and step in body else []
    number, *numbers = numbers or ["?"]
    if not isinstance(body, list):
        return []
    items = [item for item in body if isinstance(item, dict) and f"[{item.get('index')!r}]" == number]
    return [value for item in items or body for value in found_at(item, rest, numbers)]


def is_numbered(body: Any, path: list[str]) -> bool:
    """True if a list on *path* has items that say their number, so that the payload's numbers matter."""
    if not path:
        return False
    step, *rest = path
    if step != "[]":
        step = step.replace(DOT, ".")
        return isinstance(body, dict) and step in body and is_numbered(body[step], rest)
    return isinstance(body, list) and any(
        (isinstance(item, dict) and "index" in item) or is_numbered(item, rest) for item in body
    )


class Found:
    """The values at the paths of one body. What does not hang on the payload's numbers is looked up once."""

    def __init__(self, body: Any) -> None:
        self.body = body
        self.known: dict[str, list[Any] | None] = {}

    def at(self, target: str, numbers: list[str]) -> list[Any]:
        path = steps(target)
        if target not in self.known:
            self.known[target] = None if is_numbered(self.body, path) else found_at(self.body, path, [])
        found = self.known[target]
        return found_at(self.body, path, numbers) if found is None else found


def rule_for(rules: Any, path: str) -> tuple[Any, str]:
    """
    The rule for the field at *path* of a payload, such as `choices[].delta.content`, and its path in the whole body.

    The longest beginning of *path* that has a rule counts; `content.*` is the rule for the fields of `content`, `*` for
    those of the payload. Without any, the field keeps its path.
    """
    rest = ""
    head = path
    while head:
        rule = rules.get(f"{head}.*") if rest[:1] == "." else None
        rule = rule or rules.get(head)
        if rule is not None:
            return rule, rest.lstrip(".") if rule.at == "$" else (rule.at or head) + rest
        cut = max(head.rfind("."), head.rfind("[]"))
        head, rest = (head[:cut], head[cut:] + rest) if cut > 0 else ("", rest)
    rule = rules.get("*", LAST)
    return rule, f"{rule.at}.{path}" if rule.at else path


# The fields of an event that say where in the lists of the body its own fields belong.
NUMBERED = {
    "openai-responses": {
        "item": ("output_index",),
        "part": ("output_index", "content_index", "summary_index"),
    },
}


def lost(dialect: str, payloads: list[dict[str, Any]], body: dict[str, Any]) -> list[str]:
    """
    The fields of *payloads* that are not in *body* where the rules of the dialect say that they are.

    Pieces of text are left to the tests of the text. A field that never said anything has to be there as a key. A sign
    of life is in no body.
    """
    form = native.get(dialect)
    events = getattr(form, "EVENTS", {})
    numbered = NUMBERED.get(dialect, {})
    groups: dict[tuple[Any, ...], tuple[str, str, list[str], list[Any], tuple[Any, ...]]] = {}
    for payload in payloads:
        if is_ping(payload.get("type")):
            continue
        delta = payload.get("delta")
        kind = payload.get("type") or (delta.get("type") if isinstance(delta, dict) else None)
        rules = {**form.RULES, **(events.get(kind, {}) if isinstance(kind, str) else {})}
        for pattern, place, value in leaves(payload):
            rule, target = rule_for(rules, pattern)
            if rule.how in ("transport", "append"):
                continue
            numbers = [step for step in place if isinstance(step, str) and step.startswith("[")]
            if place and place[0] in numbered:
                numbers[:0] = [f"[{payload[name]!r}]" for name in numbered[place[0]] if name in payload]
            group = groups.setdefault((target, *numbers), (rule.how, target, numbers, [], place))
            group[3].append(value)
    wrong = []
    found = Found(body)
    for how, target, numbers, values, place in groups.values():
        present = found.at(target, numbers)
        said = [value for value in values if not is_blank(value)]
        if how == "extend" and target.endswith("[]") and all(value == [] for value in values):
            continue  # nothing has to be in the list
        if how == "first":
            # A time of 0 is none.
            said = [value for value in said if value or value is False][:1] or said[:1]
        wanted = said if how == "extend" else said[-1:]
        where = ".".join(map(str, place)).replace(".[", "[")
        if not said and not present and not is_blank(values[-1]):
            wrong.append(f"{where}: no {target}")
        if not said and not present:
            wrong.append(f"{where}: no key {target} for {values[-1]!r}")
        wrong += [
            f"{where}: {how} value {value!r:.80} is not at {target}, there is {present!r:.120}"
            for value in wanted
            if not any(same(value, item) for item in present)
        ]
    return wrong


def same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other


def different(want: Any, got: Any, path: str = "") -> list[str]:
    """The paths at which two bodies differ."""
    if isinstance(want, dict) and isinstance(got, dict):
        out = [f"{path}.{key} is missing" for key in want.keys() - got.keys()]
        out += [f"{path}.{key} is too many: {got[key]!r:.60}" for key in got.keys() - want.keys()]
        for key in want.keys() & got.keys():
            out += different(want[key], got[key], f"{path}.{key}")
        return sorted(out)
    if isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            return [f"{path}: {len(want)} items became {len(got)}"]
        return [
            line for at, pair in enumerate(zip(want, got, strict=True)) for line in different(*pair, f"{path}[{at}]")
        ]
    return [] if same(want, got) else [f"{path}: {want!r:.80} became {got!r:.80}"]
