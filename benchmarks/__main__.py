"""``python -m benchmarks list`` and ``python -m benchmarks NAME… [--json]``."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from benchmarks import engine

BENCHMARKS = {"tasks": engine.tasks, "latency": engine.latency}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="list, all, or: " + ", ".join(BENCHMARKS))
    parser.add_argument("--json", action="store_true", help="one line of JSON for each figure")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is measured; the median counts")
    args = parser.parse_args()
    if args.names == ["list"]:
        for name, function in BENCHMARKS.items():
            print(f"{name:<10} {(function.__doc__ or '').splitlines()[0]}")
        return 0
    names = list(BENCHMARKS) if args.names == ["all"] else args.names
    if unknown := [n for n in names if n not in BENCHMARKS]:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    for name in names:
        for figure in BENCHMARKS[name](args.repeat):
            print(json.dumps(asdict(figure)) if args.json else figure.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
