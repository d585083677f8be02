"""The DAG processor: watches the DAGs folder and keeps the database's versions in step with it."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import structlog

from dagbook.commands import deploy
from dagbook.commands.next_run import set_next_run
from dagbook.errors import DatabaseUnavailable, Fault, InvalidDag
from dagbook.services.loop import Backoff, Clock, utc_now
from dagbook.settings import Settings
from dagbook.spec.models import DagSource, DagSpec, DataInterval
from dagbook.store import files, jobs, timetables, versions
from dagbook.store.files import FileRow
from dagbook.store.versions import Versions
from dagbook.store.work import Store
from dagbook.worker.parse import parse
from dagbook.worker.timetable import Question, ask

log = structlog.get_logger(__name__)
_EVERY = 1.0
_ASKED_AT_ONCE = 50
#: Until a timetable that failed is asked again.
_REST = timedelta(minutes=1)
#: A file that says neither of these words defines no DAG.
_MARKS = (b"dagbook", b"airflow")


@dataclass(frozen=True, slots=True)
class Found:
    path: str
    mtime: float
    text: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Result:
    found: Found
    source: DagSource
    dags: list[tuple[DagSpec, str]]
    faults: list[Fault]
    seconds: float


class DagProcessor:
    """A file that can't be loaded keeps its error, its DAGs their last good version, and other files don't notice."""

    def __init__(self, store: Store, folder: Path, settings: Settings, clock: Clock = utc_now):
        self._store, self._folder, self._settings, self._clock = store, folder.absolute(), settings, clock
        self._versions = Versions()
        self._job = 0
        self._next_beat = 0.0

    def run(self, stop: threading.Event) -> None:
        backoff = Backoff()
        while not stop.is_set():
            try:
                self._beat()
                self.look()
                self.ask_timetables()
                backoff.reset()
                stop.wait(_EVERY)
            except DatabaseUnavailable as e:
                log.warning("waiting for the database", error=str(e))
                stop.wait(backoff.pause())

    def _beat(self) -> None:
        if time.monotonic() < self._next_beat:
            return
        self._next_beat = time.monotonic() + self._settings.heartbeat
        with self._store.begin() as work:
            if self._job == 0 or not jobs.beat(work, self._job):
                self._job = jobs.register(work, "dag_processor")

    def look(self) -> None:
        """One pass: files that went, files that are new or changed."""
        with self._store.begin() as work:
            known = {p: f for p, f in files.known(work).items() if Path(p).is_relative_to(self._folder)}
        there = dict(_python_files(self._folder))
        gone = self._retire([p for p in known if p not in there])
        changed: list[Found] = []
        touched: list[Found] = []
        for found in _read(there, known, look_again=gone):
            row = known.get(found.path)
            same = row is not None and row.digest == found.digest and not (gone and row.error)
            (touched if same else changed).append(found)
        if touched:
            with self._store.begin() as work:
                files.touch(work, {f.path: f.mtime for f in touched})
        if not changed:
            return
        with ThreadPoolExecutor(self._settings.parse_processes) as pool:
            for result in pool.map(self._load, changed):
                self._keep(result)

    def ask_timetables(self) -> None:
        """Which runs come next, of the DAGs whose own timetables are to be asked."""
        with self._store.begin() as work:
            questions = []
            for dag_id, version in timetables.wanting(work, self._clock(), _ASKED_AT_ONCE):
                last = versions.last_interval(work, dag_id)
                questions.append((version, Question(versions.source_of(work, version), dag_id, self._clock(), last)))
        if questions:
            with ThreadPoolExecutor(self._settings.parse_processes) as pool:
                for (version, question), answer in zip(questions, pool.map(self._ask, [q for _, q in questions]), strict=True):
                    self._keep_answer(version, question, answer)

    def _ask(self, question: Question) -> list[DataInterval] | InvalidDag:
        try:
            return ask(question, self._settings.parse_timeout)
        except InvalidDag as e:
            return e

    def _keep_answer(self, version: str, question: Question, answer: list[DataInterval] | InvalidDag) -> None:
        with self._store.begin() as work:
            if isinstance(answer, InvalidDag):
                log.warning("timetable failed", dag_id=question.dag_id, error=str(answer))
                timetables.want(work, question.dag_id, self._clock() + _REST)
                versions.set_next(work, question.dag_id, None, str(answer))
            elif timetables.keep(work, question.dag_id, version, answer, question.now):
                set_next_run(work, self._versions.spec(work, version), self._clock())
            work.due()
            work.dag_changed(question.dag_id)

    def _retire(self, paths: list[str]) -> bool:
        if paths:
            with self._store.begin() as work:
                for path in paths:
                    versions.retire(work, path, [])
                files.forget(work, paths)
        return bool(paths)

    def _load(self, found: Found) -> Result:
        began = time.monotonic()
        source = DagSource(found.text.decode("utf-8", "replace"), path=found.path)
        dags: list[tuple[DagSpec, str]] = []
        faults: list[Fault] = []
        if any(mark in found.text for mark in _MARKS):
            try:
                found.text.decode("utf-8")
                dags = parse(source, self._settings.parse_timeout)
            except InvalidDag as e:
                faults = e.faults
            except UnicodeDecodeError as e:
                faults = [Fault(f"the file is no UTF-8 text: {e.reason} at byte {e.start}", found.path, 1)]
        return Result(found, source, dags, faults, time.monotonic() - began)

    def _keep(self, result: Result) -> None:
        faults = list(result.faults)
        for spec, version in result.dags:
            try:
                with self._store.begin() as work:
                    deploy.from_file(work, spec, version, result.source, self._clock())
            except InvalidDag as e:
                faults += e.faults
        message = "\n".join(str(f) if f.origin != result.found.path else f.message for f in faults) or None
        line = next((f.line for f in faults if f.line and f.origin == result.found.path), None)
        if message:
            log.warning("DAG file has errors", path=result.found.path, line=line, error=message)
        with self._store.begin() as work:
            if not faults:
                versions.retire(work, result.found.path, [s.dag_id for s, _ in result.dags])
            files.record(work, result.found.path, result.found.mtime, result.found.digest, result.seconds, message, line)


def _python_files(folder: Path) -> Iterator[tuple[str, float]]:
    for root, folders, names in os.walk(folder):
        folders[:] = [f for f in folders if not f.startswith(".") and f != "__pycache__"]
        for name in names:
            if name.endswith(".py") and not name.startswith("."):
                path = os.path.join(root, name)
                try:
                    yield path, os.stat(path).st_mtime
                except OSError:
                    continue


def _read(there: Mapping[str, float], known: Mapping[str, FileRow], *, look_again: bool) -> Iterator[Found]:
    """Files with a new mtime, newest first.  ``look_again``: a file went, so one that failed (over a taken id) may load."""
    for path, mtime in sorted(there.items(), key=lambda f: -f[1]):
        row = known.get(path)
        if row is not None and row.mtime == mtime and not (look_again and row.error):
            continue
        try:
            yield Found(path, mtime, Path(path).read_bytes())
        except OSError as e:
            log.warning("DAG file can't be read", path=path, error=str(e))
