"""A private Jupyter server with Dagbook, and a kernel in it: for the demo, the tests and the benchmarks."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import websocket


@dataclass
class Jupyter:
    """A running server; everything that it writes lies below ``home``."""

    url: str
    token: str
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        return (self.home / "server.log").read_text(errors="replace")

    def ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"{self.url}/{path}",
            data=data,
            method=method or ("GET" if body is None else "POST"),
            headers={"Authorization": f"token {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
            said = answer.read()
        return json.loads(said) if said else None


@contextlib.contextmanager
def jupyter(folder: Path, *, kind: str = "server", home: Path | None = None, environ: dict[str, str] | None = None) -> Iterator[Jupyter]:
    """Start ``jupyter lab`` or ``jupyter server`` in ``folder`` with a home of its own; all of it is stopped and removed after."""
    own = home is None
    home = home or Path(tempfile.mkdtemp(prefix="dagbook-"))
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    token = secrets.token_hex(16)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("DAGBOOK_", "JUPYTER", "JPY_", "PYTHONPATH", "PYTHONDONTWRITE"))}
    env |= {
        "DAGBOOK_HOME": str(home / "dagbook"),
        "DAGBOOK_POSTGRES_GRACE": "3",
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "IPYTHONDIR": str(home / "ipython"),
        **(environ or {}),
    }
    command = [
        sys.executable,
        "-m",
        "jupyter",
        kind,
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={folder}",
    ]
    if kind == "lab":
        command += ["--LabApp.expose_app_in_browser=True", "--LabApp.news_url="]
    with (home / "server.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    server = Jupyter(f"http://127.0.0.1:{port}", token, home, process)
    try:
        _wait_ready(server)
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if own:
            shutil.rmtree(home, ignore_errors=True)


def _wait_ready(server: Jupyter, seconds: float = 90.0) -> None:
    """Until the engine answers and its scheduler lives."""
    deadline = time.monotonic() + seconds
    said: object = None
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise RuntimeError(f"the server ended with {server.process.returncode}:\n{server.log[-3000:]}")
        try:
            said = server.ask("dagbook/api/status")
            if {c["kind"] for c in said["components"] if c["alive"]} >= {"scheduler", "triggerer"}:
                return
        except OSError as e:
            said = e
        time.sleep(0.1)
    raise RuntimeError(f"the engine did not start within {seconds:g} s ({said}):\n{server.log[-3000:]}")


@dataclass
class Answer:
    """What a cell left: ``error`` is its traceback's last line."""

    text: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    error: str | None = None


class Kernel:
    """A kernel of the server, spoken to over the server's own WebSocket."""

    def __init__(self, server: Jupyter):
        self._server = server
        self.id = server.ask("api/kernels", {"name": "python3"})["id"]
        url = f"{server.url.replace('http', 'ws', 1)}/api/kernels/{self.id}/channels"
        signed_in = [f"Authorization: token {server.token}"]
        self._sock = websocket.create_connection(url, header=signed_in, timeout=120, http_no_proxy=["127.0.0.1"])

    def run(self, code: str, timeout: float = 120.0) -> Answer:
        ask = self._send("execute_request", {"code": code, "silent": False, "store_history": True, "allow_stdin": False})
        answer, shown = Answer(), {}
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            message = json.loads(self._sock.recv())
            if message["parent_header"].get("msg_id") != ask:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "stream":
                answer.text += content["text"]
            elif kind in ("display_data", "execute_result", "update_display_data"):
                self._show(answer, shown, content)
            elif kind == "error":
                answer.error = f"{content['ename']}: {content['evalue']}"
            elif kind == "status" and content["execution_state"] == "idle":
                return answer
        raise TimeoutError(f"no answer within {timeout:g} s to: {code[:80]}; so far: {answer.text[-500:]}")

    @staticmethod
    def _show(answer: Answer, shown: dict[str, int], content: dict[str, Any]) -> None:
        name = content.get("transient", {}).get("display_id")
        if name in shown:
            answer.data[shown[name]] = content["data"]
            return
        if name:
            shown[name] = len(answer.data)
        answer.data.append(content["data"])

    def complete(self, code: str) -> list[str]:
        ask = self._send("complete_request", {"code": code, "cursor_pos": len(code)})
        while True:
            message = json.loads(self._sock.recv())
            if message["msg_type"] == "complete_reply" and message["parent_header"].get("msg_id") == ask:
                return list(message["content"]["matches"])

    def interrupt(self) -> None:
        self._server.ask(f"api/kernels/{self.id}/interrupt", {})

    def _send(self, kind: str, content: dict[str, Any]) -> str:
        name = uuid4().hex
        header = {"msg_id": name, "msg_type": kind, "username": "", "session": "demo", "version": "5.3", "date": ""}
        self._sock.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}))
        return name

    def close(self) -> None:
        self._sock.close()
        self._server.ask(f"api/kernels/{self.id}", method="DELETE")
