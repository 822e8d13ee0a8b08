"""How doubtful things are judged."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, get_args

from chunkfold._value import Value, hints_of

__all__ = ["DEFAULT_POLICY", "Policy"]


class Policy(Value, frozen=True):
    """
    One field for each decision about doubtful things. It holds no code, and the default is the safest: keep
    everything, mark what is doubtful, repair nothing.

    A policy is read when the response is built and on rare events (a start, a stop, a repeat, an orphan), never for a
    delta to an open part. Where it takes parts away or sorts them, their position in `parts` is no longer the `index`
    of their events.

    Raises:
        ValueError: If a field is none of its words; the message names them.
        TypeError: If `infer_finish` is no bool or `id_seed` no text.
    """

    _shows_all: ClassVar[bool] = True

    unusable_arguments: Literal["tag", "drop", "raise", "null", "start", "repair"] = "tag"
    """
    What becomes of a client call whose arguments are `invalid` or `truncated`.

    `tag` keeps it as it is, with that status. `drop` takes it away: the model asked for something and nobody will know.
    `raise` raises `PolicyError`, which has every such call and the whole response. `null` makes the arguments `None`
    and the call `complete`: a tool that takes anything will run. `start` takes the arguments that the start of the call
    carried, else `{}`, and says in `extra["arguments_lost"]` why and how many bytes were given up: the tool runs with
    less than the model said. `repair` closes JSON that was cut, leaves the rest as it was written, and marks the call
    `extra["repaired"]`: half a file name is a file name too. The last three keep the text that came in
    `extra["original_arguments"]`.
    """

    non_object_arguments: Literal["tag", "accept"] = "tag"
    """
    Arguments that are JSON but no object (`[1]`, `"x"`, `null`): `tag` makes them `invalid`, `accept` takes them, and
    a tool that expects names gets none. What may have been cut, as a number at the end of a cut stream, stays
    `truncated`.
    """

    empty_arguments: Literal["object", "null"] = "object"
    """
    No argument text at all: `object` means `{}` (status `empty`), `null` means `None` (status `complete`), which breaks
    tools without parameters.
    """

    missing_finish: Literal["none", "stop", "stop_if_clean", "raise"] = "none"
    """
    The server never said why it stopped. `none` leaves `finish_reason` at `None`. `stop` claims `stop`, also for a
    stream that was cut. `stop_if_clean` claims it only where the end mark was seen. `raise` raises `PolicyError`, also
    for the servers that never give a reason.
    """

    finish: Literal["last", "first", "most_specific"] = "last"
    """
    Which of several reasons stands. `first` misses late content filters and is wrong where a server puts a reason on
    every frame. `most_specific` takes the one that says most: an error, a filter, a refusal, the length, calls, and
    a plain stop last.
    """

    infer_finish: bool = True
    """
    Make `tool_calls` of a plain stop with client calls, and `refusal` of one with nothing but a refusal. `False` leaves
    the server's word: loops that look at the reason alone then miss the calls of servers that always say stop.
    """

    empty_stream: Literal["none", "stop", "error", "raise"] = "none"
    """
    A stream without parts, reason and error. `none` judges it by `missing_finish` alone. `stop` makes it an empty
    message that stopped, hiding that nothing came. `error` puts an error of type `empty_stream` in the response.
    `raise` raises `PolicyError`.
    """

    reasoning: Literal["keep", "observe", "drop"] = "keep"
    """
    `keep` keeps reasoning parts in the message. `observe` has them in events and snapshots while the stream runs, not
    in the finished response. `drop` never stores them. Without them their signatures are lost too, and providers that
    want their thinking back (Anthropic, Gemini) refuse the next turn or do worse.
    """

    missing_id: Literal["none", "make", "drop"] = "none"
    """
    A client call without an id: `none` leaves it `None`; `make` makes one up, the same for the same stream; `drop`
    takes the call away.
    """

    id_seed: str = ""
    """
    Goes into ids that are made up. They are made from the id of the response, the call and its place, so that equal
    responses without an id need different seeds in one conversation.
    """

    missing_name: Literal["keep", "drop"] = "keep"
    """A client call without a name: `keep` keeps it with `name=None`; `drop` hides that the model called something."""

    id_merge: Literal["first", "last"] = "first"
    """
    Which id of a call stands if a later one differs. `last` breaks whoever has already answered to the first. (Where
    the dialect shows that a new id is a new call, it is one whatever this says.)
    """

    name_merge: Literal["join", "first", "last"] = "join"
    """
    What a later piece of a call's name does: `join` goes on with the name, `first` ignores it, `last` takes it instead.
    The latter two halve names that a server splits.
    """

    duplicate_start: Literal["new", "merge", "replace"] = "new"
    """
    A call starts with the id of an earlier one. `new`: it is another call. `merge`: it goes on with the earlier one,
    which spoils both if there were two. `replace`: it takes the earlier one's place, whose arguments are lost.
    """

    orphans: Literal["keep", "wait", "drop"] = "keep"
    """
    Deltas for a part that was never started. `keep` makes a part of them, which a start that follows claims. `wait`
    keeps them only if a start follows. `drop` loses them. Each part of them leaves a diagnostic.
    """

    late_deltas: Literal["keep", "drop"] = "keep"
    """
    Deltas for a part that has ended: `keep` goes on with it, `drop` loses what servers send behind the mark of the end.
    Each such part leaves a diagnostic.
    """

    unclosed_parts: Literal["keep", "drop"] = "keep"
    """Parts that were never stopped: `drop` loses what a cut stream had begun to say."""

    order: Literal["started", "index", "closed"] = "started"
    """
    The order of parts: as they started; `index` sorts calls, among themselves, by the provider's numbers; `closed`
    sorts all by when they ended, which may put a call before the text that announced it.
    """

    usage: Literal["latest", "max", "replace", "sum"] = "latest"
    """
    How usage that comes again is merged: `latest` number of each field; the `max` of each, which keeps counts that a
    server corrects downwards; `replace` the whole, so that a number given once is erased by a report without it;
    `sum`, which counts running totals twice.
    """

    choices: Literal["all", "first"] = "all"
    """`first` keeps choice 0 only: other candidates, which were paid for, are lost."""

    def __post_init__(self) -> None:
        for name, default in zip(self.__struct_fields__, self.__struct_defaults__, strict=True):
            value = getattr(self, name)
            if value is not default:
                self._check(name, value)

    def _check(self, name: str, value: object) -> None:
        hint = hints_of(type(self))[name]
        words = get_args(hint)
        if words and value not in words:
            raise ValueError(f"Policy.{name}: {value!r} is not one of {', '.join(words)}")
        if not words and type(value) is not hint:
            raise TypeError(f"Policy.{name}: expected a {hint.__name__}, got {value!r}")


DEFAULT_POLICY = Policy()

# What a policy that gives a call other arguments leaves in its `extra`; the first always stands there.
ORIGINAL_ARGUMENTS: Final = "original_arguments"
ARGUMENT_MARKS: Final = frozenset({ORIGINAL_ARGUMENTS, "arguments_lost", "repaired"})
