"""The rules of the house that a type checker and a linter do not know, read from the syntax trees."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("services", "tools", "mocks", "lab")
FORBIDDEN = {
    "services": {"mocks", "lab", "tests"},
    "tools": {"services", "mocks", "lab", "tests", "restate", "hypercorn", "openai"},
    "mocks": {"services", "tools", "lab", "tests", "restate"},
    "lab": {"services", "tools", "tests"},
}
LARGEST_FILE_LINES = 320


def modules(folder: str) -> list[Path]:
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"{folder} has no modules"
    return found


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_lies_below_it(folder: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules(folder)
        for name in imported(path)
        if name.split(".")[0] in FORBIDDEN[folder]
    ]
    assert not wrong


def test_the_lab_takes_nothing_from_the_mocks_but_their_rows() -> None:
    names = {name for path in modules("lab") for name in imported(path) if name.split(".")[0] == "mocks"}
    assert names <= {"mocks.rows"}


def test_only_the_journal_makes_steps() -> None:
    users = {
        path.name
        for path in modules("services")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in ("run_typed", "run_async")
    }
    assert users == {"journal.py"}


def test_only_the_settings_read_the_environment_and_only_the_clock_reads_the_time() -> None:
    readers: dict[tuple[str, str], set[str]] = {}
    for path in (*modules("services"), *modules("tools")):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                readers.setdefault((node.value.id, node.attr), set()).add(path.name)
    assert not readers.keys() & {("os", "getenv"), ("uuid", "uuid4"), ("datetime", "now")}
    assert readers["os", "environ"] == {"settings.py"}
    assert readers["time", "time"] == {"clock.py"}


def around_the_context() -> list[Path]:
    """Modules that take a context of Restate's or what it hands out. Its own signals pass through them: a wide except
    would swallow a suspension or a cancel."""
    found = [path for path in modules("services") if set(taken_from_restate(path)) & CONTEXTS]
    assert {"run.py", "turn.py", "lane.py", "notice.py", "state.py"} <= {path.name for path in found}
    return found


CONTEXTS = {"Context", "ObjectContext", "ObjectSharedContext", "RestateDurableFuture"}


def taken_from_restate(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "restate":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "restate":
            yield node.attr


def test_no_module_around_the_context_catches_wide() -> None:
    wide = [
        f"{path.name}:{node.lineno}"
        for path in around_the_context()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    assert not wide


def test_no_module_around_the_context_starts_tasks_of_its_own() -> None:
    banned = {"gather", "create_task", "ensure_future", "wait_for", "as_completed", "TaskGroup"}
    used = [
        f"{path.name}:{node.lineno} {node.attr}"
        for path in around_the_context()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and node.attr in banned
        and isinstance(node.value, ast.Name)
        and node.value.id == "asyncio"
    ]
    assert not used


def opens_with_words(path: Path) -> bool:
    """A module says what it is; where it is one tool, the tool says so, to people and to the model."""
    made = tree(path)
    tools = [node for node in made.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    one_tool = path.parent.name == "tools" and len(tools) == 1 and "@tool" in path.read_text()
    return bool(ast.get_docstring(made) or (one_tool and ast.get_docstring(tools[0])))


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_module_opens_with_a_docstring_and_is_short(folder: str) -> None:
    wrong = []
    for path in modules(folder):
        if not opens_with_words(path):
            wrong.append(f"{path.relative_to(ROOT)} has no docstring")
        if len(path.read_text().splitlines()) > LARGEST_FILE_LINES:
            wrong.append(f"{path.relative_to(ROOT)} is longer than {LARGEST_FILE_LINES} lines")
    assert not wrong


def test_what_the_linter_is_told_to_overlook_exists() -> None:
    ignores = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]["per-file-ignores"]
    assert not [pattern for pattern in ignores if not next(ROOT.glob(pattern), None)]


def test_the_effect_class_decides_in_one_table_only() -> None:
    """Nobody compares a tool's effect class: its policy is asked."""
    comparing = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("services", "tools")
        for path in modules(folder)
        if path.name != "effect.py"
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Compare)
        and any(
            isinstance(side, ast.Attribute) and isinstance(side.value, ast.Name) and side.value.id == "Effect"
            for side in (node.left, *node.comparators)
        )
    ]
    assert not comparing


def test_every_test_that_the_documents_name_exists() -> None:
    named: set[tuple[str, str]] = set()
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        named |= set(re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", document.read_text()))
    assert named
    missing = [
        f"{path}::{function}"
        for path, function in sorted(named)
        if not (ROOT / path).exists() or (function and f"def {function}(" not in (ROOT / path).read_text())
    ]
    assert not missing
