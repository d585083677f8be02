"""The REST API of a real server: who may ask, what is answered, what bad requests get."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from urllib.parse import quote

import pytest
import websocket
from jupyter import jupyter

from dagbook.api.routes import routes
from dagbook.client import Api, Server
from dagbook.client.events import follow
from dagbook.errors import Conflict, EngineUnavailable, InvalidDag, NotFound
from dagbook.spec.models import DagSource
from dagbook.wire.rest import BackfillRequest, TriggerRequest

pytestmark = pytest.mark.xdist_group("api")

MODULE = "from dagbook import *\nwith DAG('{0}', params={{'n': 1}}):\n    @task\n    def a(params):\n        print('hi')\n        return params['n']\n    a()\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with jupyter(tmp_path_factory.mktemp("api")) as found:
        yield found


@pytest.fixture(scope="module")
def api(server):
    return Api(Server(server.url, server.token))


def status(server, path: str, method: str = "GET", body: object = None, **headers) -> tuple[int, dict]:
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}/dagbook/api/{path}", data=data, method=method, headers=headers)
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as e:
        said = e.read()
        return e.code, json.loads(said) if said.startswith(b"{") else {}


PATHS = [re.sub(r"\([^)]*\)", "1", pattern.removeprefix("/dagbook/api/")) for pattern, _ in routes()]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "PUT", "DELETE"])
def test_nobody_gets_in_without_signing_in(server, path, method):
    code, body = status(server, path, method, None if method == "GET" else b"{}")
    assert code in (403, 405)
    assert "dag_id" not in body


def test_a_browser_session_needs_its_xsrf_token(server):
    """A cookie alone, as a foreign page would send it, changes nothing."""
    jar = urllib.request.HTTPCookieProcessor()
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar)
    opener.open(f"{server.url}/api/status?token={server.token}").read()
    cookies = "; ".join(f"{c.name}={c.value}" for c in jar.cookiejar)
    assert status(server, "dags", Cookie=cookies)[0] == 200
    assert status(server, "dags/x", "PATCH", {"is_paused": True}, Cookie=cookies)[0] == 403


def test_events_need_signing_in(server):
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        websocket.create_connection(f"{server.url.replace('http', 'ws', 1)}/dagbook/api/events", timeout=5, http_no_proxy=["127.0.0.1"])


def test_a_draft_is_deployed_run_watched_and_read(api):
    detail = api.deploy("one", DagSource(MODULE.format("one")))
    assert (detail.dag.is_draft, [t.task_id for t in detail.tasks], detail.params[0].default) == (True, ["a"], 1)
    run = api.trigger("one", TriggerRequest(conf={"n": 7}, run_id="mine/1 ü%"))
    events = [e for e in follow(api, "one", run.run.run_id) if e]
    assert events[-1].detail.run.state == "success"
    assert api.result("one", "mine/1 ü%", "a") == 7
    assert api.log("one", "mine/1 ü%", "a").text == "hi\n"
    assert [i.state for i in api.instances("one", "mine/1 ü%", "a")] == ["success"]
    assert api.xcom("one", "mine/1 ü%", "a").value == 7
    assert api.dags("ONE")[0].recent_runs[0].state == "success"
    assert [v.number for v in api.versions("one")] == [1]
    with pytest.raises(Conflict, match="has a run 'mine/1 ü%' already"):
        api.trigger("one", TriggerRequest(run_id="mine/1 ü%"))
    with pytest.raises(NotFound, match="has no result 'other'"):
        api.result("one", "mine/1 ü%", "a", key="other")


def test_the_same_source_makes_no_second_version_and_a_new_one_does(api):
    for text in (MODULE.format("two"), MODULE.format("two"), MODULE.format("two") + "# more\n"):
        api.deploy("two", DagSource(text))
    assert [v.number for v in api.versions("two")] == [2, 1]


def test_faults_come_with_their_lines(api):
    with pytest.raises(InvalidDag) as caught:
        api.deploy("bad", DagSource("from dagbook import *\nx = 1/0\n"))
    assert (caught.value.faults[0].line, caught.value.faults[0].message) == (2, "ZeroDivisionError: division by zero")
    with pytest.raises(InvalidDag, match="must define the DAG 'bad' and no other; it defines 'two'"):
        api.deploy("bad", DagSource(MODULE.format("two")))


@pytest.mark.parametrize(
    ("path", "method", "body", "code", "words"),
    [
        ("dags/nosuch", "GET", None, 404, "there is no DAG 'nosuch'"),
        ("dags/" + quote("../../etc", safe=""), "GET", None, 404, "there is no DAG '../../etc'"),
        ("dags/" + quote("x' OR 1=1 --"), "GET", None, 404, "there is no DAG"),
        ("dags/%00", "GET", None, 400, "NUL"),
        ("dags/three/runs?limit=x", "GET", None, 400, "limit='x' is not a whole number"),
        ("dags/three/runs?limit=0", "GET", None, 400, "limit=0 must lie between 1 and 1000"),
        ("dags/three/runs/nosuch", "GET", None, 404, "no run 'nosuch'"),
        ("dags/three/runs", "POST", b"{", 400, "the request's body is wrong"),
        ("dags/three/runs", "POST", {"logical_date": "soon"}, 400, "logical_date"),
        ("dags/three/runs", "POST", {"conf": {"zz": 1}}, 400, "has no param 'zz'"),
        ("dags/three/runs", "POST", {"run_id": ""}, 400, "run_id must have"),
        ("dags/three/runs", "POST", {"run_id": "a\nb"}, 400, "can be printed"),
        ("dags/three/runs", "POST", {"run_id": "\ud800"}, 400, "the request's body is wrong"),
        ("dags/three/runs", "POST", {"version": "nosuch"}, 404, "there is no DAG version 'nosuch'"),
        ("dags/three", "PATCH", {}, 400, "is_paused"),
        ("dags/three/backfills", "POST", {"start": "2025-01-01", "end": "2025-01-02"}, 400, "has no schedule"),
        ("dags", "POST", {"dag_id": "x", "source": {"text": "\0"}}, 400, "NUL"),
    ],
)
def test_bad_requests_get_a_clear_sentence(server, api, path, method, body, code, words):
    api.deploy("three", DagSource(MODULE.format("three")))
    got, said = status(server, path, method, body, Authorization=f"token {server.token}")
    assert got == code
    assert words in said["message"]


def test_hostile_text_stays_text(api):
    name = "weird"
    text = "from dagbook import *\nwith DAG('weird', description=\"<script>alert(1)</script>'; DROP TABLE dag; --\", tags=['%_\\\\']):\n"
    api.deploy(name, DagSource(text + "    EmptyOperator('a')\n"))
    found = api.dags("<script>")[0]
    assert found.description.startswith("<script>alert(1)</script>'; DROP")
    assert [d.dag_id for d in api.dags("%_\\")] == ["weird"]
    assert api.dags("%") == []


def test_a_backfill_is_planned_and_carried_out(api):
    api.deploy(
        "days",
        DagSource(
            "from dagbook import *\nfrom datetime import datetime\nwith DAG('days', schedule='@daily', start_date=datetime(2025, 1, 1)):\n"
            "    EmptyOperator('a')\n"
        ),
    )
    made = api.backfill("days", BackfillRequest(_date(2025, 1, 1), _date(2025, 1, 3), 2))
    assert (made.total, len(made.runs)) == (3, 3)
    deadline = time.monotonic() + 60
    while api.backfills("days")[0].state != "completed" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert api.backfills("days")[0].counts == {"success": 3}


def test_a_wrong_token_is_told_so(server):
    with pytest.raises(EngineUnavailable, match="refuses this kernel's token"):
        Api(Server(server.url, "wrong")).dags()


def _date(*parts):
    from datetime import date

    return date(*parts)
