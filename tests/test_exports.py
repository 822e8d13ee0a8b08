"""The public surface: what is exported, that it is documented and typed, and that the lists agree."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import typing

import msgspec
import pytest

import chunkfold
from chunkfold import errors, events, parts, response


def modules():
    """Every module of the package that may be imported without an extra."""
    yield chunkfold
    for found in pkgutil.walk_packages(chunkfold.__path__, "chunkfold."):
        if found.name != "chunkfold.__main__":
            yield importlib.import_module(found.name)


MODULES = list(modules())
PUBLIC = [module for module in MODULES if not any(part.startswith("_") for part in module.__name__.split("."))]
every_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
every_public_module = pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)

# What the contract names.
PROMISED = [
    "fold",
    "afold",
    "stream",
    "astream",
    "Folder",
    "Decoder",
    "StreamAccumulator",
    "ChunkfoldError",
    "LimitExceeded",
    "IncompleteResponse",
    "PolicyError",
    "InvalidToolCall",
    "RestoreError",
    "UnknownDialect",
    "MissingExtra",
    "Limits",
    "Policy",
    "Response",
    "Choice",
    "Message",
    "Usage",
    "StreamError",
    "Diagnostic",
    "TextPart",
    "ReasoningPart",
    "RefusalPart",
    "ToolCall",
    "ToolResult",
    "ImagePart",
    "AudioPart",
    "FilePart",
    "UnknownPart",
]
PROMISED_EVENTS = [
    "MessageStart",
    "PartStart",
    "TextDelta",
    "ReasoningDelta",
    "RefusalDelta",
    "ToolArgumentsDelta",
    "DataDelta",
    "PartUpdate",
    "PartReplace",
    "PartStop",
    "Annotations",
    "Logprobs",
    "UsageUpdate",
    "Finish",
    "MessageReset",
    "ErrorEvent",
    "Ping",
    "UnknownEvent",
    "Extra",
    "MessageStop",
    "is_output",
]


@every_module
def test_the_list_of_exports_is_sorted_and_every_name_is_there(module):
    listed = getattr(module, "__all__", [])
    assert len(set(listed)) == len(listed)
    assert [name for name in listed if not hasattr(module, name)] == []


@every_public_module
def test_every_public_module_says_what_it_exports_and_what_it_is_for(module):
    assert module.__doc__
    if module.__name__.startswith("chunkfold.dialects."):
        assert module.DIALECT
    elif [item for item in vars(module).values() if getattr(item, "__module__", "") == module.__name__]:
        assert module.__all__


def public_names(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


def test_the_classes_that_a_caller_feeds_have_no_more_than_a_caller_needs():
    decoder = {"feed", "finish", "close", "dialect", "end_seen"}
    assert public_names(chunkfold.Decoder) == decoder | {"limits"}
    assert public_names(chunkfold.Folder) == decoder | {"snapshot", "save", "restore"}
    assert public_names(chunkfold.StreamAccumulator) == {"observe", "observe_all", "snapshot", "finalize"}


def test_what_the_contract_names_is_exported():
    assert [name for name in PROMISED if name not in chunkfold.__all__] == []
    assert [name for name in PROMISED_EVENTS if name not in events.__all__] == []


def test_all_errors_are_of_one_family_and_all_values_are_exported_by_the_package():
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.ChunkfoldError)
    made = {name for name, item in vars(errors).items() if inspect.isclass(item) and issubclass(item, Exception)}
    assert made == set(errors.__all__)
    classes = {name for name in parts.__all__ if inspect.isclass(getattr(parts, name))}
    assert classes <= set(chunkfold.__all__)
    values = {name for name in response.__all__ if inspect.isclass(getattr(response, name))}
    assert values <= set(chunkfold.__all__)


def test_every_class_of_events_is_exported_and_known_by_its_type():
    classes = set(events.CLASSES.values())
    assert {cls.__name__ for cls in classes} <= set(events.__all__)
    assert {cls.type for cls in classes} == set(events.CLASSES)
    assert set(events.Event.__args__) == classes


def test_modules_are_at_hand_without_an_import_of_their_own():
    """Each in a process of its own as far as it can tell, since one that is loaded brings others with it."""
    inner = {"assembly", "basis", "cli", "doors", "folding", "likeness"}  # which the manual names to nobody
    public = {
        found.name for found in pkgutil.iter_modules(chunkfold.__path__) if not found.name.startswith("_")
    } - inner
    ask = """
import sys
for name in sys.argv[1:]:
    import chunkfold
    assert getattr(chunkfold, name).__name__ == "chunkfold." + name
    assert name in dir(chunkfold)
    for loaded in [module for module in sys.modules if module.split(".")[0] == "chunkfold"]:
        del sys.modules[loaded]
import chunkfold
assert "chunkfold.resilience" not in sys.modules
assert "chunkfold.events" not in sys.modules
"""
    made = subprocess.run([sys.executable, "-c", ask, *sorted(public)], capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr


def test_no_module_is_called_like_something_exported():
    """`import chunkfold.fold` must not replace `chunkfold.fold`."""
    names = {found.name for found in pkgutil.iter_modules(chunkfold.__path__)}
    functions = {name for name in chunkfold.__all__ if not inspect.ismodule(getattr(chunkfold, name))}
    assert names & functions == set()


def public_objects():
    """Every public class and function, and the public methods of the classes."""
    for module in PUBLIC:
        for name in getattr(module, "__all__", ()):
            item = getattr(module, name)
            if not (inspect.isclass(item) or inspect.isfunction(item)) or not item.__module__.startswith("chunkfold"):
                continue
            yield f"{module.__name__}.{name}", item
            if inspect.isclass(item):
                for inner, value in vars(item).items():
                    value = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
                    value = value.fget if isinstance(value, property) else value
                    if inspect.isfunction(value) and not inner.startswith("_"):
                        yield f"{module.__name__}.{name}.{inner}", value


OBJECTS = dict(public_objects())


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_name_has_a_docstring(name):
    item = OBJECTS[name]
    if inspect.isclass(item):
        assert item.__doc__
        assert not item.__doc__.startswith(f"{item.__name__}("), "this is made by a decorator"
    else:
        inherited = name.split(".")[-1] in ("to_dict", "to_json", "kind", "type")
        assert item.__doc__ or inherited


@pytest.mark.parametrize("name", [name for name, item in OBJECTS.items() if inspect.isfunction(item)])
def test_every_public_function_states_its_types(name):
    signature = inspect.signature(OBJECTS[name])
    assert signature.return_annotation is not inspect.Signature.empty
    for parameter in signature.parameters.values():
        if parameter.name not in ("self", "cls"):
            assert parameter.annotation is not inspect.Parameter.empty
            assert parameter.kind is not inspect.Parameter.VAR_KEYWORD, "options are written out"


# What callers hardly write: the command, the registers. And what is loaded only where somebody asks for it, so that its
# types are names.
REGISTERS = re.compile(r"chunkfold\.(cli|dialects|framing|likeness|native)\.")
LOADED_LATE = re.compile(r"\.(as_prefill|timing)$")


def constructors():
    """Those of the classes that a caller makes."""
    for name, item in OBJECTS.items():
        is_made = inspect.isclass(item) and not issubclass(item, (Exception, tuple, msgspec.Struct))
        if is_made and inspect.isfunction(item.__init__) and not re.search(r"(Stream|Fold)$", name):
            yield f"{name}.__init__", item.__init__


def test_types_are_there_for_those_who_ask_at_run_time():
    """`typing.get_type_hints(chunkfold.fold)`: what checks arguments, fills them in or documents them asks so."""
    asked = {**OBJECTS, **dict(constructors())}
    assert len(asked) > len(OBJECTS)
    without = []
    for name, item in asked.items():
        if REGISTERS.match(name) or LOADED_LATE.search(name):
            continue
        try:
            typing.get_type_hints(item)
        except NameError as error:
            without.append(f"{name}: {error}")
    assert without == []


def test_the_doors_and_their_twins_take_the_same():
    def options(door):
        return list(inspect.signature(door).parameters.values())

    assert options(chunkfold.fold) == options(chunkfold.afold)
    assert options(chunkfold.stream) == options(chunkfold.astream)
    public = {name for name in dir(chunkfold.Stream) if not name.startswith("_")}
    assert {name for name in dir(chunkfold.AsyncStream) if not name.startswith("_")} == public - {"close"} | {"aclose"}


def test_the_package_is_typed_and_has_a_version():
    assert (chunkfold.__path__ and (importlib.resources.files(chunkfold) / "py.typed").is_file()) is True
    assert chunkfold.__version__.count(".") == 2


def test_the_tree_in_the_docstring_of_the_errors_is_the_tree():
    parents, at = {}, {0: "ChunkfoldError"}
    for line in errors.__doc__.splitlines():
        found = re.match(r"    ([│ ]*)[├└]── (\w+)", line)
        if found:
            depth = len(found[1]) // 4 + 1
            at[depth] = found[2]
            parents[found[2]] = at[depth - 1]
    assert set(parents) == set(errors.__all__) - {"ChunkfoldError"}
    for name, parent in parents.items():
        assert getattr(errors, parent) in getattr(errors, name).__bases__
