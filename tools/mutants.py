"""Change one thing at a time in the trigger rules, and see that a test notices: ``tools/mutants.py``; non-zero when one survives."""

from __future__ import annotations

import ast
import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = ROOT / "src/dagbook/decide/readiness.py"
TESTS = ["tests/unit/test_trigger_rules.py"]
FLIPPED = {ast.Eq: ast.NotEq, ast.GtE: ast.Gt, ast.Gt: ast.GtE, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub}


def places(tree: ast.AST) -> list[ast.AST]:
    return [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Compare | ast.BoolOp | ast.BinOp) or (isinstance(n, ast.Return) and n.value is not None)
    ]


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(what was changed, the changed source)"""
    tree = ast.parse(source)
    for n, old in enumerate(places(tree)):
        changed = copy.deepcopy(tree)
        node = places(changed)[n]
        match node:
            case ast.Compare(ops=[op]) if type(op) in FLIPPED:
                node.ops = [FLIPPED[type(op)]()]
            case ast.BoolOp(op=op):
                node.op = FLIPPED[type(op)]()
            case ast.BinOp(op=op) if type(op) in FLIPPED and not isinstance(node.left, ast.Constant):
                node.op = FLIPPED[type(op)]()
            case ast.Return(value=ast.Compare() | ast.BoolOp() | ast.Constant(value=bool())):
                node.value = ast.UnaryOp(ast.Not(), node.value)
            case _:
                continue
        yield f"line {old.lineno}: {ast.unparse(old)}  ->  {ast.unparse(node)}", ast.unparse(ast.fix_missing_locations(changed))


def noticed() -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *TESTS]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode != 0


def main() -> int:
    original = CODE.read_text()
    if noticed():
        print("the tests fail on the code as it is", file=sys.stderr)
        return 2
    survivors = total = 0
    try:
        for what, source in mutants(original):
            CODE.write_text(source)
            total += 1
            if not noticed():
                survivors += 1
                print(f"survived: {what}", flush=True)
    finally:
        CODE.write_text(original)
    print(f"{total - survivors} of {total} mutants noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
