"""The main job without a screen: run a notebook in a real Jupyter server, say what came of it, and leave nothing behind."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from jupyter import Kernel, jupyter

#: Runs that must have failed, and no others.
_MEANT_TO_FAIL = {"flights_broken"}


def main(notebook: Path) -> int:
    cells = [c for c in json.loads(notebook.read_text())["cells"] if c["cell_type"] == "code"]
    began = time.monotonic()
    wrong: list[str] = []
    with jupyter(notebook.parent.resolve()) as server:
        print(f"Jupyter server with Dagbook up in {time.monotonic() - began:.1f} s")
        kernel = Kernel(server)
        for cell in cells:
            wrong += _run_cell(kernel, "".join(cell["source"]))
        kernel.close()
        wrong += _tell_runs(server)
    for problem in wrong:
        print(f"WRONG: {problem}", file=sys.stderr)
    print(f"{'failed' if wrong else 'all is well'} after {time.monotonic() - began:.1f} s")
    return 1 if wrong else 0


def _run_cell(kernel: Kernel, code: str) -> list[str]:
    first = code.splitlines()[0]
    print(f"\n>>> {first}{' …' if code.count(chr(10)) else ''}")
    answer = kernel.run(code)
    for text in [answer.text, *(d.get("text/plain", "") for d in answer.data)]:
        if text.strip():
            print(text.rstrip())
    return [f"cell {first!r}: {answer.error}"] if answer.error else []


def _tell_runs(server: object) -> list[str]:
    wrong = []
    print("\nWhat the engine says of every run:")
    for dag in server.ask("dagbook/api/dags"):
        runs = server.ask(f"dagbook/api/dags/{dag['dag_id']}/runs?limit=100")
        if not runs:
            wrong.append(f"DAG {dag['dag_id']} has no runs")
        for run in runs:
            print(f"  {run['dag_id']:<16} {run['run_id']:<44} {run['state']}")
            if run["state"] != ("failed" if run["dag_id"] in _MEANT_TO_FAIL else "success"):
                wrong.append(f"run {run['run_id']} of {run['dag_id']} is {run['state']}")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
