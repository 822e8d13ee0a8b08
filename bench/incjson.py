"""
A resumable JSON reader in plain Python, as short as one can be: what live arguments cost at the least.

Containers are filled in place, a string in progress is a list of pieces that is joined when it closes, numbers and
words appear when they are complete. No paths, no events, no errors, no copies: the measure for `live.py`.
"""

from __future__ import annotations

import json
import re

_STR = re.compile(r'[^"\\]+')  # a run of plain string characters
_WS = " \t\r\n"
_ATOM_END = re.compile(r"[,\]}\s]")


class IncJSON:
    __slots__ = ("atom", "done", "esc", "expect_key", "instr", "key", "parts", "root", "stack")

    def __init__(self):
        self.root = None
        self.stack = []  # open containers, innermost last
        self.key = None  # pending key of the innermost object
        self.parts = []  # pieces of the open string
        self.esc = ""  # an escape sequence cut by a fragment boundary
        self.atom = ""  # a number or literal in progress
        self.instr = False
        self.expect_key = False
        self.done = False

    def _put(self, v):
        if not self.stack:
            self.root = v
            self.done = True
            return
        top = self.stack[-1]
        if type(top) is dict:
            top[self.key] = v
            self.key = None
        else:
            top.append(v)

    def feed(self, s):
        i, n = 0, len(s)
        while i < n:
            if self.instr:
                if self.esc:
                    self.esc += s[i]
                    i += 1
                    e = self.esc
                    if e[1] != "u":
                        self.parts.append(json.loads(f'"{e}"'))
                        self.esc = ""
                    elif len(e) == 6:
                        self.parts.append(chr(int(e[-4:], 16)))
                        self.esc = ""
                    continue
                m = _STR.match(s, i)
                if m:
                    self.parts.append(m.group())
                    i = m.end()
                    if i == n:
                        return
                if s[i] == "\\":
                    self.esc = "\\"
                    i += 1
                    continue
                i += 1
                self.instr = False
                v = "".join(self.parts)
                if "\ud800" <= max(v, default="") <= "\udfff":
                    v = v.encode("utf-16", "surrogatepass").decode("utf-16")
                self.parts = []
                if self.expect_key:
                    self.key = v
                    self.expect_key = False
                else:
                    self._put(v)
                continue
            c = s[i]
            if self.atom:
                m = _ATOM_END.search(s, i)
                if not m:
                    self.atom += s[i:]
                    return
                self.atom += s[i : m.start()]
                i = m.start()
                self._put(json.loads(self.atom))
                self.atom = ""
                continue
            i += 1
            if c == '"':
                self.instr = True
            elif c == "{":
                v = {}
                self._open(v)
                self.expect_key = True
            elif c == "[":
                self._open([])
                self.expect_key = False
            elif c == "}" or c == "]":
                self.stack.pop()
                self.expect_key = False
                if not self.stack:
                    self.done = True
            elif c == ",":
                self.expect_key = type(self.stack[-1]) is dict
            elif c == ":" or c in _WS:
                pass
            else:
                self.atom = c

    def _open(self, v):
        if self.stack:
            self._put(v)
        else:
            self.root = v
        self.stack.append(v)

    def peek(self):
        return self.root, "".join(self.parts) if self.instr else None
