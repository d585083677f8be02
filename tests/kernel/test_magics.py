"""The magics in a real kernel of a real Jupyter server with the engine behind it."""

from __future__ import annotations

import threading
import time

import pytest
from jupyter import Kernel, jupyter

pytestmark = pytest.mark.xdist_group("kernel")

TASKS = """%%dag {0} --schedule @daily --start 2025-01-01 --param n=3 --tag t
@task
def numbers(params):
    print("making", params["n"])
    return list(range(params["n"]))
@task
def square(x):
    return x * x
@task
def total(xs, day):
    return [day, sum(xs)]
total(square.expand(x=numbers()), "{{{{ ds }}}}")"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with jupyter(tmp_path_factory.mktemp("kernel")) as found:
        yield found


@pytest.fixture(scope="module")
def kernel(server):
    found = Kernel(server)
    assert found.run("%load_ext dagbook").error is None
    yield found
    found.close()


def shown(answer) -> str:
    assert answer.error is None, answer.error
    return answer.text + "\n".join(d.get("text/plain", "") for d in answer.data)


def test_a_cell_becomes_a_dag_and_runs_on_the_engine(kernel):
    assert "numbers, square, total (draft" in shown(kernel.run(TASKS.format("first")))
    answer = kernel.run("run = %dag run first --date 2025-03-01")
    assert "first success" in shown(answer)
    last = answer.data[-1]
    assert "application/vnd.jupyter.widget-view+json" not in last
    assert "<svg" in last["text/html"]
    assert last["application/vnd.dagbook.view.v1+json"]["event"]["detail"]["run"]["state"] == "success"
    assert (
        shown(kernel.run("print(run.state, run['total'].result, run['square'].result, run['square'][2].state)"))
        == "success ['2025-03-01', 5] [0, 1, 4] success\n"
    )
    assert "making 3" in shown(kernel.run("%dag logs first numbers"))
    assert "[0, 1, 4]" in shown(kernel.run("%dag xcom first square"))
    assert "4" in shown(kernel.run("%dag xcom first square[2]"))
    assert "making 5" in shown(kernel.run("r = %dag run first --param n=5\nprint(r['numbers'].log)"))


def test_a_dag_is_tested_in_the_kernel_itself(kernel):
    kernel.run(TASKS.format("tried"))
    assert "total success" in shown(kernel.run("tried = %dag test tried --date 2025-03-01 --param n=4\nprint(tried)"))
    assert shown(kernel.run("print(tried['total'])")) == "['2025-03-01', 14]\n"
    assert "has no runs" in kernel.run("%dag logs tried total").text
    kernel.run("%%dag broken_here\n@task\ndef divide(by):\n    return 1 / by\ndivide(0)")
    answer = kernel.run("failed = %dag test broken_here")
    assert "return 1 / by" in answer.text
    assert "%debug opens where it failed" in answer.text
    assert shown(kernel.run("import sys\nprint(sys.last_value)")) == "division by zero\n"


def test_a_dataframe_comes_back_as_one(kernel):
    shown(kernel.run("import pandas as pd"))
    shown(kernel.run("%%dag frames\n@task\ndef a():\n    return pd.DataFrame({'x': [1, 2]})\n@task\ndef b(f):\n    return f * 2\nb(a())"))
    assert "[2, 4]" in shown(kernel.run("r = %dag run frames\nprint(list(r['b'].result['x']), type(r['b'].result).__name__)"))


def test_an_exception_shows_the_authors_own_lines(kernel):
    shown(kernel.run("def divide(x):\n    return x / 0"))
    shown(kernel.run("%%dag breaks\n@task\ndef a():\n    return divide(1)\n@task\ndef b(x): ...\nb(a())"))
    said = shown(kernel.run("r = %dag run breaks"))
    assert "✘ a: ZeroDivisionError: division by zero (Cell [" in said
    log = shown(kernel.run("print(r['a'].log, r['b'].state)"))
    assert "line 4, in a" in log
    assert "line 2, in divide" in log
    assert "dagbook/worker" not in log
    assert "upstream_failed" in log


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%dag test nothing_here", "no cell of this kernel has made a DAG 'nothing_here'"),
        ("%dag rnu x", "%dag has no verb 'rnu'; did you mean 'run'?"),
        ("%dag run x --dat 1", "%dag run has no option '--dat'; did you mean '--date'"),
        ("%dag run", "the following arguments are required: ID"),
        ("%dag run nosuch", "there is no DAG 'nosuch'"),
        ("%dag run errs --date soon", "'soon' is no date"),
        ("%dag run errs --param m=1", "has no param 'm'; there are: n"),
        ("%dag logs errs nosuch", "has no task 'nosuch'"),
        ("%dag logs errs numbers --run nosuch", "no run 'nosuch'"),
        ("%dag xcom errs square[9]", "there is no [9]"),
        ("%dag show errs nosuch", "no run 'nosuch'"),
        ("%dag backfill errs 2025-01-05 2025-01-01", "before it starts"),
        ("%dag backfill errs 2020-01-05 2020-01-06", "no interval from"),
        ("%dag 'run", "quotes don't match"),
        ("%%dag\nx = 1", "the following arguments are required: ID"),
        ("%%dag x --schedul y\nx = 1", "did you mean '--schedule'"),
        ("%%dag x\n@task\ndef a(:\n  pass", "line 3: SyntaxError: invalid syntax"),
        ("%%dag x\n@task\ndef a(): ...\n@task\ndef b(): ...\np=a(); q=b()\np >> q >> p", "the tasks form a cycle: a → b → a"),
        ("%%dag x\nimport nosuchmodule", "line 2: ModuleNotFoundError: No module named 'nosuchmodule'"),
        ("%%dag x\n@task(pool='big')\ndef a(): ...\na()", "there is no pool 'big'"),
        ("%%dag x\n\n", "the cell of DAG 'x' is empty"),
    ],
)
def test_bad_input_gets_one_clear_sentence(kernel, line, words):
    shown(kernel.run(TASKS.format("errs")))
    kernel.run("%dag run errs")
    answer = kernel.run(line)
    said = f"{answer.error or ''}{answer.text}"
    assert words in said
    assert "Traceback" not in answer.text


def test_help_is_text_and_never_an_error(kernel):
    for line in ("%dag", "%dag help", "%dag -h"):
        assert "%dag backfill" in shown(kernel.run(line))
    assert "--no-wait" in shown(kernel.run("%dag run --help"))
    assert "--catchup" in shown(kernel.run("%%dag --help\nx"))


def test_tab_completes_verbs_options_dags_and_tasks(kernel):
    shown(kernel.run(TASKS.format("tabbed")))
    time.sleep(5.1)  # the list of DAGs for completion is kept for five seconds
    assert "run" in kernel.complete("%dag r")
    assert "tabbed" in kernel.complete("%dag run tab")
    assert "--date" in kernel.complete("%dag run tabbed --da")
    assert {"numbers", "square", "total"} <= set(kernel.complete("%dag logs tabbed "))


def test_an_interrupt_leaves_the_run_going_and_says_how_to_stop_it(kernel):
    shown(kernel.run("%%dag slow\n@task\ndef a():\n    import time\n    time.sleep(30)\na()"))
    threading.Timer(2.0, kernel.interrupt).start()
    said = shown(kernel.run("r = %dag run slow"))
    assert "goes on without this cell" in said
    assert "%dag cancel slow" in said
    assert "running" in shown(kernel.run("print(r.state)"))
    assert "failed" in shown(kernel.run("%dag cancel slow"))
    assert "failed" in shown(kernel.run("print(r.wait(20).state, r['a'].state)"))


def test_a_backfill_runs_every_day_and_a_second_one_leaves_them_alone(kernel):
    shown(kernel.run(TASKS.format("days")))
    assert "5 success" in shown(kernel.run("b = %dag backfill days 2025-01-01 2025-01-05 --max-active 3"))
    assert "['2025-01-01', '2025-01-05']" in shown(kernel.run("x = [r['total'].result[0] for r in b.runs]\nprint([x[0], x[-1]])"))
    assert "nothing to run" in shown(kernel.run("%dag backfill days 2025-01-01 2025-01-05"))
    assert "5 success" in shown(kernel.run("%dag backfill days 2025-01-01 2025-01-05 --reprocess completed --max-active 5"))


def test_a_paused_dag_says_so_instead_of_hanging_silently(kernel):
    shown(kernel.run(TASKS.format("held")))
    assert "held is paused" in shown(kernel.run("%dag pause held"))
    shown(kernel.run("r = %dag run held --no-wait"))
    assert "paused" in shown(kernel.run("print(r)"))
    assert "held is on" in shown(kernel.run("%dag unpause held"))
    assert "success" in shown(kernel.run("print(r.wait(30).state)"))


def test_task_processes_have_no_credentials(kernel):
    shown(kernel.run("%%dag env\n@task\ndef a():\n    import os\n    return sorted(os.environ)\na()"))
    names = shown(kernel.run("r = %dag run env\nprint(r['a'].result)"))
    assert "PATH" in names
    for secret in ("DAGBOOK_DATABASE_URL", "JUPYTER_TOKEN", "JPY_API_TOKEN", "PGPASSWORD"):
        assert secret not in names


def test_unloading_takes_everything_away(server):
    kernel = Kernel(server)
    shown(kernel.run("%load_ext dagbook\n%load_ext dagbook"))
    shown(kernel.run("%unload_ext dagbook"))
    assert "not found" in (kernel.run("%dag list").error or kernel.run("%dag list").text)
    kernel.close()


def test_no_engine_is_said_in_one_line_with_the_command_that_starts_it(server):
    kernel = Kernel(server)
    shown(kernel.run("import os\nos.environ['DAGBOOK_API_URL'] = 'http://127.0.0.1:9'\n%load_ext dagbook"))
    answer = kernel.run("%dag list")
    said = (answer.error or "") + answer.text
    assert "does not answer" in said
    assert "dagbook standalone" in said
    kernel.close()


def test_a_backfill_is_previewed_and_can_be_stopped_from_another_cell(kernel):
    shown(kernel.run("%%dag slowdays --schedule @daily --start 2025-01-01\n@task\ndef a():\n    import time\n    time.sleep(60)\na()"))
    preview = shown(kernel.run("%dag backfill slowdays 2025-01-01 2025-01-03 --preview"))
    assert "3 create; 1 at once. Nothing has been started" in preview
    assert "no backfills; make one" in shown(kernel.run("%dag backfill slowdays"))
    shown(kernel.run("b = %dag backfill slowdays 2025-01-01 2025-01-03 --no-wait"))
    assert "paused" in shown(kernel.run("%dag backfill slowdays --pause"))
    assert "running" in shown(kernel.run("print(b.resume().state)"))
    assert "cancelled" in shown(kernel.run("%dag backfill slowdays --cancel"))
    assert "cancelled" in shown(kernel.run("print(b.wait(20).state)"))
    assert "ended already: cancelled" in kernel.run("%dag backfill slowdays --pause").text


def test_clear_shows_what_it_would_touch_and_then_runs_it_again(kernel):
    shown(kernel.run(TASKS.format("redo")))
    shown(kernel.run("r = %dag run redo"))
    dry = shown(kernel.run("%dag clear redo square[1] --downstream --dry-run"))
    assert "Would clear 2 task instances" in dry
    assert "square[1]" in dry
    assert "Cleared 2 task instances" in shown(kernel.run("r = %dag clear redo square[1] --downstream"))
    assert "success [1, 2, 1]" in shown(kernel.run("print(r.state, [i.try_number for i in r['square']])"))
    assert "did you mean 'square'?" in kernel.run("%dag clear redo squar").text
