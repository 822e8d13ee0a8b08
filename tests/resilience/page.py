"""
The tables of `docs/resilience.md`, made from what the tests go by.

    python -m tests.resilience.page        writes them into the page
"""

from __future__ import annotations

import re
from pathlib import Path

from chunkfold._prefill import _REASONS, _VENDORS
from tests.resilience.faults import ANSWERS, STREAM_FAULTS

PAGE = Path(__file__).parent.parent.parent / "docs" / "resilience.md"


def stream_faults() -> str:
    lines = [
        "| fault | the server | before the first output | after it | after it, with `after_output=True` | when it is done |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| `{fault.name}` | {fault.does} | {fault.before} | {fault.after} | {fault.opted} | {fault.done} |"
        for fault in STREAM_FAULTS
    ]
    return "\n".join(lines)


def answers() -> str:
    lines = ["| answer | what comes of it |", "|---|---|"]
    for answer in ANSWERS:
        if not answer.again:
            said = f"`response.error`, of type `{answer.error}`" if answer.error else "`response.error`"
        elif answer.wait is None:
            said = "asked again, after the wait of `Retry`"
        else:
            cap = ", the cap of this test" if "cap" in answer.name else ""
            source = " (`RateLimitRetry.default`)" if answer.wait == 5.0 else cap
            said = f"asked again after {answer.wait:g} s{source}"
        lines.append(f"| {answer.name} | {said} |")
    return "\n".join(lines)


def prefill() -> str:
    lines = ["| vendor of `openai-chat` | the last message | the request | mind |", "|---|---|---|---|"]
    for name, way in sorted(_VENDORS.items()):
        mark = f"`{way.mark}: true`" if way.mark else ""
        body = ", ".join(f"`{key}: {str(value).lower()}`" for key, value in way.body.items())
        lines.append(f"| `{name}` | {mark} | {body} | {way.note} |")
    lines += ["", "| not continued | because |", "|---|---|"]
    lines += [f"| `{name}` | {reason} |" for name, reason in sorted(_REASONS.items())]
    return "\n".join(lines)


SECTIONS = {"stream faults": stream_faults, "answers": answers, "prefill": prefill}
RESULTS = ("result first", "result more")


def replace_section(text: str, name: str, content: str) -> str:
    """*text* with what stands between the marks of the section replaced."""
    pattern = re.compile(rf"(<!-- {name}: begin -->\n).*?(<!-- {name}: end -->)", re.DOTALL)
    if pattern.search(text) is None:
        raise ValueError(f"the page has no section {name!r}")
    return pattern.sub(lambda found: f"{found[1]}{content}\n{found[2]}", text)


def section(text: str, name: str) -> str:
    found = re.search(rf"<!-- {name}: begin -->\n(.*?)\n?<!-- {name}: end -->", text, re.DOTALL)
    if found is None:
        raise ValueError(f"the page has no section {name!r}")
    return found[1]


def generated(text: str) -> str:
    for name, make in SECTIONS.items():
        text = replace_section(text, name, make())
    return text


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
