"""Whatever the order of things, a run ends as the words of SEMANTICS say, and nothing starts that may not."""

from __future__ import annotations

from random import Random

import pytest
from histories import History, plan
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

#: Histories of each part of a test: so many that all parts together are more than 5,000.
EACH = 700
seeds = st.integers(0, 2**64)
many = settings(max_examples=EACH, deadline=None, suppress_health_check=list(HealthCheck))


def history(seed: int) -> History:
    draw = Random(seed)
    return History(plan(draw), draw)


@pytest.mark.parametrize("part", range(4))
@given(seed=seeds)
@many
def test_a_run_ends_as_the_model_says(part, seed):
    h = history(seed)
    h.finish()
    h.check_end()


@pytest.mark.parametrize("part", range(2))
@given(seed=seeds)
@many
def test_tasks_cleared_after_the_end_run_again_and_leave_the_rest(part, seed):
    h = history(seed)
    h.finish()
    for _ in range(2):
        h.clear_some()
        h.finish()
        h.check_end()


@pytest.mark.parametrize("part", range(2))
@given(seed=seeds)
@many
def test_a_task_cleared_with_all_below_it_while_the_run_goes_on_is_as_if_it_had_never_run(part, seed):
    h = history(seed)
    h.play(h.draw.randint(0, 60))
    h.clear_below()
    h.play(h.draw.randint(0, 60))
    h.clear_below()
    h.finish()
    h.check_end()
