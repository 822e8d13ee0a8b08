"""Every dialect has a native form, and the manual says of each what is in no body."""

from __future__ import annotations

import re

from chunkfold import dialects, native
from tests.helpers import HERE
from tests.native.forms import rule_for

PAGE = (HERE.parent / "docs" / "native.md").read_text(encoding="utf-8")


def transport(name):
    form = native.get(name)
    tables = [form.RULES, *getattr(form, "EVENTS", {}).values()]
    return {path for table in tables for path, rule in table.items() if rule.how == "transport"}


def test_every_dialect_has_its_section_and_says_what_is_in_no_body():
    sections = dict(re.findall(r"^### ([\w-]+)\n(.*?)(?=^###|\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert list(sections) == list(dialects.names())
    for name, section in sections.items():
        listed = section[section.index("In no body:") :]
        assert set(re.findall(r"`([^`]+)`", listed)) == transport(name), name


def test_the_rules_of_the_page_are_the_rules_that_there_are():
    said = set(re.findall(r"^\| (\w+) \|", PAGE, re.MULTILINE)) - {"rule"}
    used = {rule.how for name in dialects.names() for rule in native.get(name).RULES.values()}
    assert used == said


def test_a_field_that_no_table_names_keeps_its_path():
    for name in dialects.names():
        rule, path = rule_for(native.get(name).RULES, "a_field_that_nobody_knows[].deep")
        # What Vercel streams are the parts of the message.
        where = "parts[]." if name == "vercel-ui" else ""
        assert (rule.how, path) == ("last", where + "a_field_that_nobody_knows[].deep")
