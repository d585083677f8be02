"""Every trigger rule, row by row, and against an independent reading of the same table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagbook.decide.readiness import Doomed, Ready, Waiting, readiness
from dagbook.decide.upstream import Upstream
from dagbook.spec.models import TriggerRule
from dagbook.states import TaskState

#: Those that authors name; a teardown's own has a table below.
RULES = [r for r in TriggerRule if r is not TriggerRule.ALL_DONE_SETUP_SUCCESS]
R, W, F, S = "ready", "waits", "upstream_failed", "skipped"
#: upstream states: s success, f failed, u upstream_failed, k skipped, . not done yet
TABLE = {
    "all_success": {"ss": R, "s.": W, "sf": F, "f.": F, "sk": S, "uk": F, "kk": S, "k.": W},
    "all_failed": {"ff": R, "fu": R, "f.": W, "fs": S, "fk": S, "ss": S},
    "all_done": {"sf": R, "kk": R, "s.": W, "f.": W},
    "all_done_min_one_success": {"sf": R, "sk": R, "ff": F, "fk": F, "kk": S, "s.": W},
    "all_skipped": {"kk": R, "ks": S, "kf": S, "k.": W},
    "one_success": {"s.": R, "sf": R, "ff": F, "fk": F, "kk": S, "f.": W},
    "one_failed": {"f.": R, "u.": R, "ss": S, "sk": S, "s.": W},
    "one_done": {"s.": R, "f.": R, "k.": W, "kk": S, "uk": S},
    "none_failed": {"ss": R, "sk": R, "kk": R, "s.": W, "f.": F, "u.": F},
    "none_failed_min_one_success": {"sk": R, "ss": R, "kk": S, "f.": F, "s.": W},
    "none_skipped": {"sf": R, "ss": R, "k.": S, "s.": W},
    "always": {"..": R, "f.": R},
}


def upstream(states: str) -> Upstream:
    return Upstream(len(states), states.count("s"), states.count("f"), states.count("u"), states.count("k"))


def verdict(rule: str, states: str) -> str:
    found = readiness(TriggerRule(rule), upstream(states))
    match found:
        case Ready():
            return R
        case Waiting():
            return W
        case Doomed(to):
            return str(to)


@pytest.mark.parametrize(("rule", "states", "expected"), [(r, s, v) for r, rows in TABLE.items() for s, v in rows.items()])
def test_rule_gives_the_tables_verdict(rule, states, expected):
    assert verdict(rule, states) == expected


def test_the_table_covers_every_rule():
    assert set(TABLE) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_a_task_without_upstreams_is_ready(rule):
    assert isinstance(readiness(rule, Upstream(0)), Ready)


@given(st.sampled_from(RULES), st.text("sfuk.", min_size=1, max_size=6), st.randoms())
def test_a_verdict_once_given_is_never_taken_back(rule, states, random):
    """Whatever the unfinished upstreams become, what was decided early stays right."""
    early = verdict(rule, states)
    later = "".join(random.choice("sfuk") if s == "." else s for s in states)
    if early != W:
        assert verdict(rule, later) == early


@given(st.sampled_from(RULES), st.text("sfuk", min_size=1, max_size=6))
def test_when_all_upstreams_are_done_nothing_waits(rule, states):
    assert verdict(rule, states) != W


def test_reasons_carry_their_numbers():
    found = readiness(TriggerRule.ALL_SUCCESS, upstream("s.f"))
    assert isinstance(found, Doomed)
    assert found.to is TaskState.UPSTREAM_FAILED
    assert found.reason == "1 of 3 upstream tasks failed (all_success)"


#: (setups, other upstreams) → verdict of a teardown.
TEARDOWN = {
    ("s", "s"): R,
    ("s", "f"): R,
    ("s", "k"): R,
    ("s", "u"): R,
    ("s", "."): W,
    (".", "s"): W,
    ("f", "."): F,
    ("f", "u"): F,
    ("k", "k"): S,
    ("k", "."): S,
    ("sf", "s"): R,
    ("kf", "s"): F,
    ("f.", "s"): W,
    ("", "f"): R,
    ("", "."): W,
}


@pytest.mark.parametrize(("states", "expected"), TEARDOWN.items())
def test_a_teardown_runs_after_all_is_over_if_a_setup_succeeded(states, expected):
    setups, others = states
    found = readiness(TriggerRule.ALL_DONE_SETUP_SUCCESS, upstream(setups + others), upstream(setups))
    assert {Ready: R, Waiting: W}.get(type(found)) == expected or (isinstance(found, Doomed) and found.to == expected)
