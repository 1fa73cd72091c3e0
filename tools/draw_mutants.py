"""Draw small wrong changes at random, as mutants for `tools.mutations`: comparisons, numbers, conditions, arguments.

    make coverage      # which tests reach a line: five CPU-minutes
    python -m tools.draw_mutants --count 120 --seed 1 --out runs/drawn.toml
    python -m tools.mutations --data runs/drawn.toml --folder runs/drawn

A list in `tools/mutations.toml` is soon caught nearly whole, since everybody has seen it. A drawn one estimates how
many errors the tests catch in lines that nobody lists. Rooms get mutants by their number of statements.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("agents", "evaluation", "modal_env", "training", "welfare_env")
MOST_TESTS = 40  # of those that reach a line: the ones that reach fewest lines
FOLDERS = {  # coverage sees neither compiled functions nor what only slow tests or other processes run
    "welfare_env/engine": ["tests/engine", "tests/welfare_env/test_vector.py"],
    "welfare_env": ["tests/welfare_env"],
    "agents/toy_boards": ["tests/agents/test_toy_boards.py", "tests/evaluation/test_exact.py"],
    "agents/rl": ["tests/agents/rl"],
    "agents": ["tests/agents"],
    "evaluation/exact": ["tests/evaluation/test_exact.py", "tests/evaluation/test_exact_mixes.py"],
    "evaluation": ["tests/evaluation"],
    "training": ["tests/training"],
    "modal_env": ["tests/modal_env"],
}
PAIRS = (("Lt", "LtE"), ("Gt", "GtE"), ("Eq", "NotEq"), ("Is", "IsNot"))
OPPOSITE = dict(PAIRS) | {other: one for one, other in PAIRS}
UNSEEN = (ast.Raise, ast.JoinedStr, ast.AnnAssign, ast.arguments, ast.Import, ast.ImportFrom, ast.Assert)
"""What holds no behavior, or text for people only."""


@dataclass(frozen=True)
class Change:
    """An expression to be replaced, with its place in the file, and what kind of error it is."""

    node: ast.expr
    new: str
    kind: str
    function: str
    is_compiled: bool


def changes(tree: ast.Module) -> Iterator[Change]:
    """Every change that can be drawn in a file."""
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        is_compiled = any("kernel" in ast.unparse(each) for each in function.decorator_list)
        for statement in function.body:
            for node in _seen(statement):
                for new, kind in _wrong(node):
                    yield Change(node, ast.unparse(new), kind, function.name, is_compiled)


def _seen(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions of a statement, but not those of functions in it."""
    if isinstance(node, (*UNSEEN, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    if isinstance(node, ast.expr):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _seen(child)


def _wrong(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.Compare(ops=[op]) if opposite := OPPOSITE.get(type(op).__name__):
            yield ast.Compare(node.left, [getattr(ast, opposite)()], node.comparators), "comparison"
        case ast.Compare(ops=[ast.In()]):
            yield ast.UnaryOp(ast.Not(), node), "comparison"
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield ast.Constant(value + 1), "off by one"
        case ast.BoolOp(values=values):
            yield values[0], "condition dropped"
            yield values[-1], "condition dropped"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand, "condition turned"
        case ast.IfExp(body=body, orelse=orelse):
            yield body, "condition dropped"
            yield orelse, "condition dropped"
        case ast.BinOp(op=ast.Add() | ast.Sub()) if not isinstance(node.left, ast.Constant | ast.JoinedStr):
            other = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield ast.BinOp(node.left, other, node.right), "plus and minus"
        case ast.Call(args=[first, second, *rest]) if ast.dump(first) != ast.dump(second):
            if not any(isinstance(each, ast.Starred) for each in node.args):
                yield ast.Call(node.func, [second, first, *rest], node.keywords), "arguments swapped"


def replaced(text: str, change: Change) -> tuple[str, str] | None:
    """The lines of a change, enough of them to occur only once, and the lines with it; None if that takes too many."""
    lines, node = text.splitlines(keepends=True), change.node
    last = (node.end_lineno or node.lineno) - 1
    for first in range(node.lineno - 1, max(-1, node.lineno - 6), -1):
        old = "".join(lines[first : last + 1])
        if text.count(old) == 1:
            before = "".join(lines[first : node.lineno - 1]) + _cut(lines[node.lineno - 1], None, node.col_offset)
            # in parentheses, since it may bind less tightly than what it replaces
            return old, f"{before}({change.new}){_cut(lines[last], node.end_col_offset, None)}"
    return None


def _cut(line: str, start: int | None, end: int | None) -> str:
    """A part of a line, by its bytes, as `ast` counts."""
    return line.encode()[start:end].decode()


def tests_of(file: str, change: Change, reached: CoverageData) -> list[str]:
    """The tests to try: those that reach the line, first those that reach least else; or those of its folder."""
    folder = FOLDERS[max((each for each in FOLDERS if file.startswith(each)), key=len)]
    if change.is_compiled:
        return folder
    lines = {
        line: {context.rpartition("|")[0] for context in contexts if "::" in context}
        for line, contexts in reached.contexts_by_lineno(str(ROOT / file)).items()
    }
    width = Counter(test for tests in lines.values() for test in tests)
    reaching = sorted(lines.get(change.node.lineno, ()), key=lambda test: (width[test], test))
    return reaching[:MOST_TESTS] or folder


def draw(count: int, seed: int, reached: CoverageData) -> list[dict[str, Any]]:
    """Mutants as in tools/mutations.toml."""
    rng = random.Random(seed)  # noqa: S311 (no secrets)
    texts = {
        room: {file.relative_to(ROOT).as_posix(): file.read_text() for file in (ROOT / room).rglob("*.py")}
        for room in ROOMS
    }
    trees = {room: {file: ast.parse(text) for file, text in sorted(files.items())} for room, files in texts.items()}
    sizes = {room: sum(map(_statements, parsed.values())) for room, parsed in trees.items()}
    drawn: list[dict[str, Any]] = []
    for room, parsed in trees.items():
        found = [(file, change) for file, tree in parsed.items() for change in changes(tree)]
        rng.shuffle(found)
        wanted = len(drawn) + round(count * sizes[room] / sum(sizes.values()))
        for file, change in found:
            if len(drawn) == wanted:
                break
            if lines := replaced(texts[room][file], change):
                name = f"{file}:{change.node.lineno} {change.function}: {change.kind}: {change.new[:60]}"
                tests = tests_of(file, change, reached)
                drawn.append(
                    {"name": name, "room": room, "file": file, "old": lines[0], "new": lines[1], "tests": tests}
                )
    return drawn


def _statements(tree: ast.Module) -> int:
    return sum(isinstance(node, ast.stmt) for node in ast.walk(tree))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tools.draw_mutants", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--reached", type=Path, default=ROOT / ".coverage", help="coverage's data, with contexts")
    given = parser.parse_args(arguments)
    reached = CoverageData(str(given.reached))
    reached.read()
    found = draw(given.count, given.seed, reached)
    # a JSON string without escaped slashes is a TOML string
    entries = ("\n".join(f"{name} = {json.dumps(value)}" for name, value in each.items()) for each in found)
    given.out.write_text("".join(f"[[mutant]]\n{entry}\n\n" for entry in entries), encoding="utf-8")
    unseen = sum("::" not in each["tests"][0] for each in found)
    print(f"{given.out}: {len(found)} mutants, {unseen} of them in lines that coverage does not see")


if __name__ == "__main__":
    main()
