"""The architecture, read from the import statements: bytes, frames, events, message, doors; nothing looks up."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import chunkfold

ROOT = Path(chunkfold.__file__).parent

# From the bottom to the top. A module imports its own layer and those below it.
LAYERS = {
    "basis": {"_version", "basis", "errors", "partial_json"},
    "values": {"_value", "limits", "policy", "presets", "parts", "response", "events"},
    "framing": {"framing"},
    "dialects": {"dialects"},
    "assembly": {"assembly", "accumulator"},
    "folding": {"folding", "likeness"},
    "outside": {"doors", "typed", "timing", "native", "views", "resilience", "_prefill", "_record"},
    "package": {""},
    "command": {"cli", "__main__"},
}
RANK = {module: rank for rank, modules in enumerate(LAYERS.values()) for module in modules}

# Looking up, inside a function, for a reason.
LOOKING_UP = {
    ("_value", "events"): "the names in type hints are looked up when the first value is read back",
    ("_value", "response"): "as above",
    ("response", "native"): "to_native() builds on demand what only few callers want",
    ("response", "folding"): "from_native() folds a body",
    ("response", "_record"): "record() writes what only few callers want",
    ("response", "_prefill"): "as_prefill() asks the dialects what may be gone on from",
}

# What is loaded only where it is used: the module that does, and what it is.
OPTIONAL = {"pydantic", "pydantic_core", "httpx", "opentelemetry"}


class Import(NamedTuple):
    """One imported module: by whom, what, and where the statement stands."""

    module: str
    imported: str
    is_top: bool
    line: int


def part_of(path):
    """The module or sub-package of chunkfold that a file is or belongs to."""
    inside = path.relative_to(ROOT).parts
    return inside[0].removesuffix(".py") if inside != ("__init__.py",) else ""


def imports_of(path):
    """All imports of a file but those for type checkers."""
    found = []

    def visit(node, is_top):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for inner in node.orelse:
                visit(inner, is_top)
            return
        if isinstance(node, ast.Import):
            found.extend(Import(part_of(path), alias.name, is_top, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            if node.module == "chunkfold":
                found.extend(
                    Import(part_of(path), f"chunkfold.{alias.name}", is_top, node.lineno) for alias in node.names
                )
            else:
                found.append(Import(part_of(path), node.module, is_top, node.lineno))
        inside = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for inner in ast.iter_child_nodes(node):
            visit(inner, is_top and not inside)

    visit(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


FILES = sorted(ROOT.rglob("*.py"))
IMPORTS = {path: imports_of(path) for path in FILES}
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def inner_name(imported):
    """What of the package is imported: `chunkfold.events.Event` is `events`; a name of the package itself is ``."""
    if imported.split(".")[0] != "chunkfold":
        return None
    name = imported.removeprefix("chunkfold").lstrip(".").split(".")[0]
    return name if (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file() else ""


def test_every_module_has_a_layer():
    assert {part_of(path) for path in FILES} - RANK.keys() == set()


@every_file
def test_nothing_imports_a_layer_above_its_own(path):
    wrong = []
    for imported in IMPORTS[path]:
        inner = inner_name(imported.imported)
        if inner is None or inner == imported.module:
            continue
        if RANK[inner] > RANK[imported.module]:
            if not imported.is_top and (imported.module, inner) in LOOKING_UP:
                continue
            wrong.append(f"line {imported.line}: {imported.module} imports {inner}")
    assert not wrong


@every_file
def test_only_msgspec_and_the_standard_library_are_needed(path):
    for imported in IMPORTS[path]:
        name = imported.imported.split(".")[0]
        if name in sys.stdlib_module_names or name in ("chunkfold", "msgspec"):
            continue
        assert not imported.is_top, f"line {imported.line}: {name} would be needed by everybody"
        assert name in OPTIONAL, f"line {imported.line}: {name} is no extra"


# Knowing nothing that is above


def files_of(*modules):
    return [path for path in FILES if part_of(path) in modules]


PROVIDERS = ["openai", "anthropic", "claude", "gemini", "google", "bedrock", "cohere", "mistral", "ollama", "dashscope", "watsonx", "openrouter"]  # fmt: skip
PAYLOAD_WORDS = ["choices", "content_block", "candidates", "tool_calls", "finish_reason", "message_start"]


@pytest.mark.parametrize("path", files_of("framing"), ids=lambda path: path.name)
def test_the_framing_knows_no_provider(path):
    text = path.read_text(encoding="utf-8").lower()
    assert [word for word in PROVIDERS + PAYLOAD_WORDS if word in text] == []


@pytest.mark.parametrize("path", files_of(*LAYERS["assembly"]), ids=lambda path: path.name)
def test_the_accumulator_knows_neither_bytes_nor_providers(path):
    code = ast.parse(path.read_text(encoding="utf-8"))
    words = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    names = {name for name in words if "\n" not in name and " " not in name}
    assert [word for word in PROVIDERS for name in names if word in name.lower()] == []


@pytest.mark.parametrize("path", files_of("framing", "dialects", *LAYERS["assembly"], "folding"), ids=lambda path: path.name)  # fmt: skip
def test_the_core_does_no_input_or_output(path):
    """No clock, no network, no log, no files: callers push or pull as they like."""
    outside = {"socket", "ssl", "http", "urllib", "logging", "asyncio", "selectors", "threading", "subprocess", "time", "pathlib", "io", "os", "sys"}  # fmt: skip
    top = {imported.imported.split(".")[0] for imported in IMPORTS[path] if imported.is_top}
    assert top & outside <= {"sys"}
    calls = {node.func.id for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
    assert calls & {"open", "print", "input"} == set()


# What importing costs


def loaded_by(statement):
    code = f"import sys; before = set(sys.modules); {statement}; print('\\n'.join(set(sys.modules) - before))"
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(made.stdout.split())


def test_importing_the_package_loads_no_client_no_sdk_and_no_event_loop():
    loaded = loaded_by("import chunkfold")
    heavy = ["asyncio", "httpx", "requests", "urllib3", "aiohttp", "urllib.request", "http.client", "ssl", "socket", "pydantic", "openai", "anthropic", "google", "argparse", "email", "logging", "json"]  # fmt: skip
    assert [name for name in heavy if name in loaded] == []


def test_what_reads_and_folds_is_loaded_on_first_use():
    upper = ("chunkfold.doors", "chunkfold.folding", "chunkfold.assembly", "chunkfold.dialects", "chunkfold.framing")
    assert [name for name in loaded_by("import chunkfold") if name.startswith(upper)] == []
    assert "chunkfold.doors._shells" in loaded_by("import chunkfold; chunkfold.fold")
    assert "chunkfold.doors._shells" in loaded_by("from chunkfold import *")


def test_dialects_are_loaded_on_first_use():
    one = loaded_by("import chunkfold; chunkfold.Decoder('openai-chat')")
    assert {name for name in one if name.startswith("chunkfold.dialects.") and "._" not in name} == {"chunkfold.dialects.openai_chat"}  # fmt: skip


def test_the_command_is_not_loaded_with_the_package():
    assert not [name for name in loaded_by("import chunkfold") if name.startswith("chunkfold.cli")]


def test_the_manual_shows_the_layers_as_they_are():
    page = (ROOT.parent.parent / "docs" / "inside.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+) \| ([^|]+) \|", page[: page.index("## Where to look")], re.MULTILINE)
    shown = {layer: set(re.findall(r"`(\w+)`", cell)) for layer, cell in rows if layer != "layer"}
    assert list(shown) == [layer for layer in LAYERS if layer != "package"]
    assert shown == {layer: LAYERS[layer] for layer in shown}


def test_the_modules_that_the_manual_leads_to_are_there():
    page = (ROOT.parent.parent / "docs" / "inside.md").read_text(encoding="utf-8")
    looked = page[page.index("## Where to look") : page.index("## A new dialect")]
    named = re.findall(r"`(\w+/\w+)`", looked)
    assert len(named) > 10
    assert [name for name in named if not (ROOT / f"{name}.py").exists()] == []
