"""One run that can't be judged stops nothing else."""

from __future__ import annotations

import pytest
from engines import running_engine, until

from dagbook.services import scheduler


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    with running_engine(tmp_path_factory.mktemp("poisoned")) as engine:
        yield engine


def test_it_says_why_while_others_end_and_goes_on_when_it_can_be_judged(engine, monkeypatch):
    engine.write("two.py", "with DAG('sick'):\n    EmptyOperator('a')\nwith DAG('well'):\n    EmptyOperator('a')\n")
    judge = scheduler.decide_run

    def faulty(view, now, limit):
        if view.spec.dag_id == "sick":
            raise OverflowError("date value out of range")
        return judge(view, now, limit)

    monkeypatch.setattr(scheduler, "decide_run", faulty)
    sick = engine.start("sick")
    assert engine.run("well").run.state == "success"
    said = until(lambda: engine.detail("sick", sick).run.reason)
    assert said == "the scheduler can't judge it, and tries again: OverflowError: date value out of range"
    monkeypatch.setattr(scheduler, "decide_run", judge)
    assert engine.finished("sick", sick).run.state == "success"
