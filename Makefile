# Everything goes through these targets; `make help` explains them.
PY := .venv/bin/python
STAMP := .venv/.ready
INPUTS := pyproject.toml constraints.txt jupyter-config/server-config/dagbook.json src/dagbook/labextension/package.json
# Imports are several times slower without compiled bytecode.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH

.PHONY: help env browser lab demo test lint mutants bench dist front
help:  ## Show this list.
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*##/\t/' | expand -t 10

env: $(STAMP)  ## Make .venv with Dagbook, JupyterLab and the tools for tests; does nothing when it is there.
$(STAMP): $(INPUTS)
	test -x $(PY) || python3 -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check 'pip>=25.1'
	$(PY) -m pip install --quiet --disable-pip-version-check --compile -c constraints.txt -e '.[lab]' --group dev
	touch $@

browser: env  ## Have a Chromium for the browser tests (Debian's package, by apt where it is missing).
	sh tools/browser.sh

lab: env  ## Open JupyterLab on the quickstart; the engine and its database start with it.
	cd notebooks && ../.venv/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) quickstart.ipynb

demo: env  ## Run the quickstart in a real Jupyter server without a screen; non-zero when anything goes wrong.
	$(PY) tools/demo.py notebooks/quickstart.ipynb

test: env browser  ## Run all tests, with all that they need.
	$(PY) -m pytest -n auto --dist loadgroup -q

lint: env  ## Check style, types, layers, and that generated files are current.
	.venv/bin/ruff check src tests tools benchmarks
	.venv/bin/ruff format --check -q src tests tools benchmarks
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(PY) tools/wire_types.py --check

mutants: env  ## Change the trigger rules one thing at a time and see that a test notices each.
	$(PY) tools/mutants.py

bench: env  ## Measure: every figure as one line of JSON.
	$(PY) -m benchmarks all --json

dist: env  ## Build the wheel and the source archive into dist/.
	$(PY) -m build

front: env  ## Rebuild the front end (needs Node 20): its built files are kept in the repository.
	cd labextension && PATH="$(CURDIR)/.venv/bin:$$PATH" jlpm install --immutable && PATH="$(CURDIR)/.venv/bin:$$PATH" jlpm build
