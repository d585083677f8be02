"""Histories of one run: a random DAG, what its tasks do, and everything that may go wrong on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random

from model import FAILED, RULES, SKIPPED, SUCCESS, Model, ModelTask, may_start

from dagbook.decide.admit import Candidate, Capacity, admit
from dagbook.decide.run import decide_run
from dagbook.decide.snapshot import TaskKey
from dagbook.decide.upstream import below, reachable
from dagbook.spec.models import DagSpec, Expansion, MapSource, RetryPolicy, TaskGroupSpec, TaskSpec, TriggerRule
from dagbook.states import FINISHED, RunState, TaskState
from dagbook.testing.world import Instance, Key, World
from dagbook.wire.tasks import Value

LIMIT = 3
RETRIES = 2
START = datetime(2026, 1, 1, tzinfo=UTC)
POOLS = {"wide": 4, "narrow": 2}
NONE = TaskState.NONE


@dataclass
class Plan:
    """A DAG and what its tasks do: (task, map index, generation) → how it ends, after how many tries that fail."""

    tasks: dict[str, ModelTask]
    pools: dict[str, tuple[str, int]]
    max_active_tasks: int
    most_per_run: dict[str, int]
    seed: int

    def _draw(self, what: str, *about: object) -> Random:
        return Random(repr((self.seed, what, about)))

    def ends(self, task: str, index: int, generation: int) -> str:
        return self._draw("ends", task, index, generation).choice([SUCCESS] * 5 + [FAILED, FAILED, SKIPPED])

    def failing_tries(self, task: str, index: int, generation: int) -> int:
        return self._draw("tries", task, index, generation).choice([0, 0, 1, RETRIES])

    def length(self, task: str, generation: int) -> int:
        return self._draw("length", task, generation).choice([0, 1, 2, 2, 3, LIMIT + 1])

    def untaken(self, task: str, index: int, generation: int) -> set[str]:
        """A branch leaves some of those directly below; a short circuit all below, or nothing."""
        down = sorted(t.name for t in self.tasks.values() if task in t.ups)
        draw = self._draw("untaken", task, index, generation)
        if self.tasks[task].short_circuits:
            return self.below(task) if draw.random() < 0.5 else set()
        return {d for d in down if not self.tasks[d].teardown and draw.random() < 0.5}

    def below(self, task: str) -> set[str]:
        found: set[str] = set()
        for t in self.tasks.values():
            if any(u == task or u in found for u in t.ups):
                found.add(t.name)
        return {t for t in found if not self.tasks[t].teardown}


def plan(draw: Random) -> Plan:
    """At most 8 tasks; ``draw`` decides everything."""
    tasks: dict[str, ModelTask] = {}
    group: tuple[str, str | int] | None = None
    for n in range(draw.randint(1, 8)):
        name = f"t{n}"
        ups = [u for u in tasks if draw.random() < 0.45]
        plain = [u for u in tasks.values() if u.name in ups and not (group and u.group == group[0])]
        if group is not None and draw.random() < 0.4:
            group = None
        elif group is None and draw.random() < 0.2:
            source = draw.choice(plain).name if plain and draw.random() < 0.7 else draw.randint(0, LIMIT + 1)
            group = (f"g{n}", source)
        over: str | int | None = None
        if group is not None:
            over = group[1]
            if isinstance(over, str) and not any(tasks[u].group == group[0] for u in ups) and over not in ups:
                ups.append(over)
        elif draw.random() < 0.3:
            over = draw.choice(ups) if ups and draw.random() < 0.7 else draw.randint(0, LIMIT + 1)
        task = ModelTask(name, draw.choice([*RULES, "all_success", "all_success"]), ups, over, group[0] if group else None)
        kind = draw.random()
        if kind < 0.25:
            task.branch = True
            task.short_circuits = kind < 0.08
        elif kind < 0.32:
            task.setup = True
        elif kind < 0.40 and group is None and over is None:
            task.teardown = True
        tasks[name] = task
    pools = {t: (draw.choice(list(POOLS)), draw.randint(1, 2)) for t in tasks}
    most = {t: draw.randint(1, 2) for t in tasks if draw.random() < 0.2}
    return Plan(tasks, pools, draw.randint(1, 6), most, draw.randint(0, 2**32))


def spec_of(plan: Plan) -> DagSpec:
    return DagSpec(
        "d",
        tuple(_task_spec(plan, t) for t in plan.tasks.values()),
        groups=tuple(TaskGroupSpec(g, mapped=True) for g in dict.fromkeys(t.group for t in plan.tasks.values() if t.group)),
        max_active_tasks=plan.max_active_tasks,
    )


def _task_spec(plan: Plan, t: ModelTask) -> TaskSpec:
    expansion = None
    if t.over is not None:
        source = MapSource("x", task_id=t.over) if isinstance(t.over, str) else MapSource("x", length=t.over)
        expansion = Expansion("product", (source,))
    return TaskSpec(
        t.name,
        "op",
        tuple(t.ups),
        TriggerRule.ALL_DONE_SETUP_SUCCESS if t.teardown else TriggerRule(t.rule),
        RetryPolicy(RETRIES),
        pool=plan.pools[t.name][0],
        pool_slots=plan.pools[t.name][1],
        max_active_tis_per_dagrun=plan.most_per_run.get(t.name),
        expansion=expansion,
        mapped_group=t.group,
        branches=t.branch,
        short_circuits=t.short_circuits,
        setup=t.setup,
        teardown=t.teardown,
    )


@dataclass
class History:
    """Plays a run of ``plan`` to its end; ``draw`` is the order of things and all mishaps.  Checks as it goes."""

    plan: Plan
    draw: Random
    now: datetime = START
    generation: Counter[str] = field(default_factory=Counter)
    failed_tries: Counter[Key] = field(default_factory=Counter)
    fixed: dict[str, dict[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.spec = spec_of(self.plan)
        self.world = World(self.spec, max_map_length=LIMIT)

    def model(self) -> Model:
        p, g = self.plan, self.generation
        return Model(
            p.tasks,
            lambda t, i: p.ends(t, i, g[t]),
            lambda t: p.length(t, g[t]),
            lambda t, i: p.untaken(t, i, g[t]),
            LIMIT,
            self.fixed,
        )

    def states(self) -> dict[str, dict[int, str]]:
        return {t: {i: str(x.state) for i, x in self.world.of(t).items() if x.state is not TaskState.REMOVED} for t in self.plan.tasks}

    def play(self, steps: int = 600) -> None:
        """``steps`` in any order; ``AssertionError`` where something moves that must not."""
        for _ in range(steps):
            if self.world.state is not RunState.RUNNING:
                return
            self.draw.choice(
                [self.decide, self.decide, self.queue, self.queue, self.work, self.work, self.work, self.pass_time, self.lose]
            )()

    def finish(self) -> None:
        """To the end; ``AssertionError`` where it has none."""
        self.play()
        for _ in range(200):
            if self.world.state is not RunState.RUNNING:
                return
            self.decide()
            self.queue()
            self.work()
            self.pass_time()
        raise AssertionError(f"the run never ends: {self.states()}")

    def pass_time(self) -> None:
        self.now += timedelta(minutes=10)

    # The scheduler ------------------------------------------------------------------------------

    def decide(self) -> None:
        """A decision may be lost, come late, or be made by two at once."""
        decision = decide_run(self.world.view(self.now), self.now, LIMIT)
        mishap = self.draw.random()
        if mishap < 0.1:
            return
        if mishap < 0.3:
            self.work()
        before = {k: x.state for k, x in self.world.instances.items()}
        self.world.apply(decision)
        self._check_started(before)
        if mishap > 0.9:
            after = self.states()
            self.world.apply(decision)
            assert self.states() == after

    def _check_started(self, before: dict[Key, TaskState]) -> None:
        """What has become scheduled may start by the states of the moment."""
        states, model = self.states(), self.model()
        for (name, index), x in self.world.instances.items():
            task = self.plan.tasks[name]
            if x.state is not TaskState.SCHEDULED or before.get((name, index), NONE) is not NONE or task.teardown:
                continue
            seen = model.seen(task, states, index if task.group else None)
            assert seen is not None, f"{name} is started though a branch skips it"
            assert may_start(task.rule, seen[0]), f"{name} ({task.rule}) is started over {seen[0]}"

    def queue(self) -> None:
        room = self.draw.randint(0, 5)
        admission = admit([self._candidate(k) for k in self.world.scheduled()], self._capacity(room))
        for key in admission.admitted:
            self.world.instances[key.task_id, key.map_index].move(TaskState.QUEUED)
        assert not admission.impossible
        assert len(admission.admitted) <= room
        self._check_limits()

    def _candidate(self, key: Key) -> Candidate:
        pool, slots = self.plan.pools[key[0]]
        return Candidate(TaskKey(1, *key), "d", pool, slots, most_per_run=self.plan.most_per_run.get(key[0]))

    def _held(self) -> list[str]:
        return [t for (t, _), x in self.world.instances.items() if x.state in (TaskState.QUEUED, TaskState.RUNNING)]

    def _slots(self, pool: str) -> int:
        return sum(self.plan.pools[t][1] for t in self._held() if self.plan.pools[t][0] == pool)

    def _capacity(self, room: int) -> Capacity:
        busy = [t for (t, _), x in self.world.instances.items() if x.state in (TaskState.QUEUED, TaskState.RUNNING, TaskState.DEFERRED)]
        return Capacity(
            {p: n - self._slots(p) for p, n in POOLS.items()},
            POOLS,
            {"d": self.plan.max_active_tasks - len(self._held())},
            room,
            active_in_run={(1, t): n for t, n in Counter(busy).items()},
        )

    def _check_limits(self) -> None:
        held = Counter(self._held())
        assert held.total() <= self.plan.max_active_tasks
        assert all(self._slots(p) <= n for p, n in POOLS.items())
        assert all(held[t] <= n for t, n in self.plan.most_per_run.items())

    # Workers ------------------------------------------------------------------------------------

    def work(self) -> None:
        """Something of what is queued, running or deferred goes a step on."""
        steps = {TaskState.QUEUED: self._claim, TaskState.RUNNING: self._report, TaskState.DEFERRED: self._fire}
        found = sorted(k for k, x in self.world.instances.items() if x.state in steps)
        if found:
            key = self.draw.choice(found)
            steps[self.world.instances[key].state](key)

    def _claim(self, key: Key) -> None:
        self.world.claim(key, self.now)

    def _fire(self, key: Key) -> None:
        self.world.instances[key].move(TaskState.SCHEDULED)

    def _report(self, key: Key) -> None:
        (task, index), generation, x = key, self.generation[key[0]], self.world.instances[key]
        detour = self.draw.random()
        if detour < 0.1:
            x.method = "execute_complete"
            return self.world.end(key, TaskState.DEFERRED)
        if detour < 0.2:
            x.method = "poke"
            return self.world.end(key, TaskState.UP_FOR_RESCHEDULE, not_before=self.now + timedelta(minutes=5))
        if self.failed_tries[key] < self.plan.failing_tries(task, index, generation):
            self.failed_tries[key] += 1
            return self.world.end(key, TaskState.UP_FOR_RETRY, not_before=self.now + timedelta(minutes=15))
        if (end := self.plan.ends(task, index, generation)) == SUCCESS:
            left = self.plan.untaken(task, index, generation) if self.plan.tasks[task].branch else ()
            return self.world.succeed(key, Value("json", b"", self.plan.length(task, generation)), untaken=left)
        return self.world.end(key, TaskState(end))

    def lose(self) -> None:
        """A process dies: what it had taken goes back, without a retry of its own being used."""
        taken = sorted(k for k, x in self.world.instances.items() if x.state in (TaskState.QUEUED, TaskState.RUNNING))
        if taken and self.draw.random() < 0.5:
            key = self.draw.choice(taken)
            x: Instance = self.world.instances[key]
            if x.state is TaskState.QUEUED:
                x.move(TaskState.SCHEDULED)
            else:
                self.world.end(key, TaskState.UP_FOR_RETRY, "lost", not_before=self.now)

    # A person -----------------------------------------------------------------------------------

    def clear(self, tasks: Collection[str], *, rest_has_ended: bool) -> None:
        """Whole tasks do something else from now on.  ``rest_has_ended``: what is not among them stays as it is."""
        kept = self.states() if rest_has_ended else self.fixed
        self.fixed = {t: s for t, s in kept.items() if t not in tasks}
        for t in tasks:
            self.generation[t] += 1
        cleared = [k for k in self.world.instances if k[0] in tasks]
        for key in cleared:
            self.failed_tries[key] = 0
        self.world.clear(cleared)

    def clear_some(self) -> None:
        """Any tasks, after the run has ended."""
        self.clear({t for t in self.plan.tasks if self.draw.random() < 0.4}, rest_has_ended=True)

    def clear_below(self) -> None:
        """A task and all below it, whatever goes on."""
        task = self.draw.choice(list(self.plan.tasks))
        self.clear(reachable(below(self.spec), [task]), rest_has_ended=False)

    def check_end(self) -> None:
        """Every instance has ended as the model says, and so has the run."""
        assert all(x.state in FINISHED for x in self.world.instances.values())
        model = self.model()
        expected = model.solve()
        for t, found in self.states().items():
            want = expected[t]
            never_ran = -1 in want or not {SUCCESS, FAILED} & set(want.values())
            if set(want) != set(found) and never_ran and len(set(want.values())) == 1:
                # What never ran is told apart by index or not: it may be doomed before its size is known, or keep instances from before.
                assert set(found.values()) == set(want.values()), f"{t}: {found}, the model says {want}"
            else:
                assert found == want, f"{t}: {found}, the model says {want}"
        assert self.world.state == model.run_state(expected)
