"""
Policies that judge as five other accumulators do, for who comes from one of them.

Each reproduces what that system documents or tests; the manual has a page for each (docs/systems/). What a system hands
out while the stream runs is not a policy: see `chunkfold.views`.
"""

from __future__ import annotations

from typing import Final

from chunkfold.policy import Policy

__all__ = ["behest", "behest_shipped", "loopctl", "nous", "open_agent", "req_llm"]

behest: Final = Policy(
    unusable_arguments="raise",
    non_object_arguments="accept",
    missing_finish="raise",
    infer_finish=False,
    empty_stream="stop",
    reasoning="drop",
    missing_id="drop",
    missing_name="drop",
    duplicate_start="replace",
    orphans="drop",
    usage="replace",
    choices="first",
)
"""behest as its page describes it: two errors, both with everything that came."""

behest_shipped: Final = Policy(
    unusable_arguments="null",
    non_object_arguments="accept",
    empty_arguments="null",
    missing_finish="stop",
    infer_finish=False,
    empty_stream="stop",
    reasoning="drop",
    missing_id="drop",
    missing_name="drop",
    duplicate_start="replace",
    orphans="drop",
    usage="replace",
    choices="first",
)
"""behest as its released crate behaves: no errors, `null` for arguments that cannot be read, and always a stop."""

open_agent: Final = Policy(
    unusable_arguments="raise",
    non_object_arguments="accept",
    finish="first",
    infer_finish=False,
    reasoning="drop",
    missing_id="drop",
    missing_name="drop",
    id_merge="last",
    name_merge="last",
    order="index",
)
"""open-agent-sdk: the first reason stands, calls without id or name are dropped, the rest sorted by index."""

req_llm: Final = Policy(
    unusable_arguments="start",
    non_object_arguments="accept",
    missing_finish="stop_if_clean",
    infer_finish=False,
    missing_id="make",
    missing_name="drop",
    orphans="wait",
    usage="max",
)
"""ReqLLM: arguments that are lost give way to those of the start, ids are made up, usage never shrinks."""

nous: Final = Policy(
    missing_finish="stop",
    infer_finish=False,
    empty_stream="error",
    order="index",
    usage="replace",
    choices="first",
)
"""Nous: calls are kept and tagged whatever they lack, sorted by index; a missing reason is a stop."""

loopctl: Final = Policy(
    unusable_arguments="raise",
    non_object_arguments="accept",
    missing_finish="stop_if_clean",
    finish="first",
    infer_finish=False,
    reasoning="observe",
    missing_name="drop",
    orphans="drop",
    late_deltas="drop",
    unclosed_parts="drop",
    order="closed",
    usage="replace",
    choices="first",
)
"""
loopctl: parts as they close, thinking for observers only, and nothing of what was never closed.

The first reason stands, as where loopctl reads a provider; its own accumulator, the view, takes the last one it knows.
"""
