"""A cell and what it needs of its notebook, as a module; and what can't be carried, with its cell and the way out."""

from __future__ import annotations

import datetime as dt
import logging
from pathlib import Path

import pandas as pd
import pytest

from dagbook.errors import InvalidDag
from dagbook.notebook.slicing import Cell, DagOptions, History, slice_cell
from dagbook.worker.load import load_specs


def notebook(*texts: str, namespace: dict | None = None) -> History:
    """Cells as run, one after another, in one namespace."""
    names = {} if namespace is None else namespace
    for text in texts:
        try:
            code = compile(text, "<cell>", "exec")
        except SyntaxError:
            continue
        exec(code, names)
    return History([Cell(n, t) for n, t in enumerate(texts, 1)], names)


def sliced(body: str, *cells: str, dag_id: str = "d", namespace: dict | None = None, **options):
    history = notebook(*cells, namespace=namespace)
    return slice_cell(dag_id, DagOptions(**options), Cell(len(cells) + 1, "\n" + body), history)


def faults(body: str, *cells: str, **more) -> list[str]:
    with pytest.raises(InvalidDag) as caught:
        load_specs(sliced(body, *cells, **more))
    return [str(f) for f in caught.value.faults]


def specs(source):
    return load_specs(source)[0][0]


TASK = "@task\ndef a():\n    return f(1)\na()"


@pytest.mark.parametrize(
    "cell",
    [
        "def f(x):\n    return x",
        "f = lambda x: x",
        "import functools\nf = functools.partial(max, 1)",
        "from math import sqrt as f",
        "class f:\n    def __init__(self, x): ...",
        "import math\ndef g(x):\n    return math.sqrt(x)\ndef f(x):\n    return g(x)",
        "def g(x):\n    return f(x - 1) if x else 0\ndef f(x):\n    return g(x)",
        "try:\n    from nowhere import f\nexcept ImportError:\n    def f(x): return x",
    ],
)
def test_what_a_task_calls_is_carried_along(cell):
    assert [t.task_id for t in specs(sliced(TASK, cell)).tasks] == ["a"]


def test_the_last_definition_counts():
    assert "return 2" in sliced(TASK, "def f(x):\n    return 1", "def f(x):\n    return 2").text


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("f = 3", 3),
        ("f = [1, 2, {'a': (1,)}]", [1, 2, {"a": (1,)}]),
        ("f = 'x' * 3", "xxx"),
        ("f = {1, 2}", {1, 2}),
        ("import datetime\nf = datetime.date(2025, 1, 1)", dt.date(2025, 1, 1)),
        ("from pathlib import Path\nf = Path('data').resolve()", Path("data").resolve()),
        ("f = ()", ()),
        ("f = -1.5", -1.5),
    ],
)
def test_a_small_constant_is_carried_with_the_value_that_the_kernel_holds(cell, value):
    source = sliced("X = f\n@task\ndef a():\n    return X\na()", cell)
    module: dict = {}
    exec(compile(source.text.replace("__dag__.__enter__()", "__dag__.__enter__()"), "<m>", "exec"), module)
    assert module["f"] == value


def test_a_changed_constant_is_carried_as_it_is_now():
    history = notebook("items = []", "items.append(7)")
    source = slice_cell("d", DagOptions(), Cell(3, "\n@task\ndef a():\n    return items\na()"), history)
    module: dict = {}
    exec(source.text, module)
    assert module["items"] == [7]


def test_a_logger_is_carried_by_its_statement():
    assert "getLogger" in sliced("@task\ndef a():\n    log.info('x')\na()", "import logging\nlog = logging.getLogger('x')").text
    assert logging.getLogger("x")


def test_data_is_refused_with_its_type_its_cell_and_the_way_out():
    said = faults("@task\ndef a():\n    return df\na()", "x = 1", "import pandas as pd\ndf = pd.DataFrame({'a': [1]})")
    assert len(said) == 1
    assert said[0].startswith("Cell [3], line 4: 'df' is a pandas")
    assert "made in Cell [2], line 2" in said[0]
    assert "load it inside a task" in said[0]
    assert pd.DataFrame is not None


def test_every_refused_name_is_said_at_once():
    said = faults("@task\ndef a():\n    return handle, nothing\na()", "handle = open('/dev/null')")
    assert len(said) == 2
    assert "'handle' is a _io.TextIOWrapper" in said[0]
    assert "name 'nothing' is not defined" in said[1]


def test_a_name_that_another_function_needs_is_refused_at_that_functions_line():
    said = faults(TASK, "x = 1", "c = object()\n\ndef f(x):\n    return c")
    assert said[0].startswith("Cell [2], line 4: 'c' is a object")


def test_a_misspelt_name_suggests_the_right_one():
    assert "did you mean 'stations'" in faults("@task\ndef a():\n    return statons\na()", "stations = 1")[0]


def test_lines_are_those_of_the_notebook():
    source = sliced("@task\ndef a():\n    return f(1)\na()", "x = 1\n\ndef f(x):\n    return x")
    lines = source.text.splitlines()
    place = {text: source.place(n) for n, text in enumerate(lines, 1)}
    assert place["def f(x):"] == ("Cell [1]", 3)
    assert place["    return x"] == ("Cell [1]", 4)
    assert place["@task"] == ("Cell [2]", 2)
    assert place["    return f(1)"] == ("Cell [2]", 4)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("@task\ndef a(:\n    pass", "Cell [1], line 3: SyntaxError"),
        ("@task\ndef a(): ...\na()\na(1)", "Cell [1], line 5: TypeError: task 'a'() can't be called so"),
        ("x = 1", "Cell [1], line 1: DAG 'd' has no tasks"),
        ("@task\ndef a(): ...\nb = a()\nb >> b", "the tasks form a cycle: a → a"),
        ("raise ValueError('no')", "Cell [1], line 2: ValueError: no"),
    ],
)
def test_faults_are_shown_at_their_line_of_the_cell(body, expected):
    assert expected in faults(body)[0]


def test_a_bad_option_is_shown_at_the_magics_line():
    assert faults("@task\ndef a(): ...\na()", schedule="every day")[0].startswith("Cell [1], line 1: schedule 'every day'")
    assert "no start_date" in faults("@task\ndef a(): ...\na()", schedule="@once")[0]


@pytest.mark.parametrize(
    "body",
    [
        "with DAG('d') as dag:\n    @task\n    def a(): ...\n    a()",
        "@dag\ndef d():\n    @task\n    def a(): ...\n    a()\nd()",
        "dag = DAG('d')\nEmptyOperator('a', dag=dag)",
    ],
)
def test_a_cell_may_make_its_dag_itself(body):
    spec = specs(sliced(body))
    assert (spec.dag_id, [t.task_id for t in spec.tasks]) == ("d", ["a"])


def test_options_belong_where_the_dag_is_made():
    assert "tags belong there" in faults("with DAG('d'):\n    EmptyOperator('a')", tags=("x",))[0]


def test_options_reach_the_dag():
    spec = specs(
        sliced(
            "@task\ndef a(): ...\na()",
            schedule="@daily",
            start=dt.datetime(2025, 1, 1),
            params={"n": [1, "x"]},
            tags=("t",),
            more={"timezone": "Europe/Berlin", "default_args": {"retries": 2}},
        )
    )
    assert spec.start_date == dt.datetime(2024, 12, 31, 23, tzinfo=dt.UTC)
    assert (spec.tags, spec.params[0].default, spec.tasks[0].retry.limit) == (("t",), [1, "x"], 2)


@pytest.mark.parametrize("text", ["'''\"\"\"'''", "'{{ ds }}'", "r'\\d$'", "'%s {x} $HOME ::'", "'\U0001f600\\n'"])
def test_text_reaches_the_module_unchanged(text):
    source = sliced(f"X = {text}\n@task\ndef a(): ...\na()")
    module: dict = {}
    exec(source.text, module)
    assert module["X"] == eval(text)


def test_the_same_cell_gives_the_same_version():
    cells = ("def f(x):\n    return x",)
    assert load_specs(sliced(TASK, *cells))[0][1] == load_specs(sliced(TASK, *cells))[0][1]


@pytest.mark.parametrize(
    "body",
    [
        "from airflow.sdk import task\n@task\ndef a(): ...\na()",
        "from airflow import DAG\nfrom airflow.operators.empty import EmptyOperator\nwith DAG('d'):\n    EmptyOperator(task_id='a')",
        "from airflow.decorators import dag, task\n@dag(schedule='@daily')\ndef d():\n    @task\n    def a(): ...\n    a()\nd()",
    ],
)
def test_a_cell_may_be_written_for_airflow(body):
    spec = specs(sliced(body))
    assert spec.dag_id == "d"
    assert [t.task_id for t in spec.tasks] == ["a"]
