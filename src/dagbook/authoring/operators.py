"""Operators: what a task does, and its options.  Bodies run in ``worker``, never here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from dagbook.authoring.arguments import XComArg, references
from dagbook.authoring.builder import DAG, current_dag, current_group
from dagbook.authoring.edges import Edges, _items, connect
from dagbook.authoring.mapping import MappedOver, mappable
from dagbook.authoring.place import caller
from dagbook.errors import TaskDeferred, nearest
from dagbook.spec.models import TriggerRule

if TYPE_CHECKING:
    from dagbook.authoring.groups import TaskGroup

#: Options that every operator takes and ``default_args`` may give.
OPTIONS: dict[str, Any] = {
    "retries": 0,
    "retry_delay": timedelta(minutes=5),
    "retry_exponential_backoff": False,
    "max_retry_delay": None,
    "trigger_rule": TriggerRule.ALL_SUCCESS,
    "pool": "default_pool",
    "pool_slots": 1,
    "priority_weight": 1,
    "weight_rule": "downstream",
    "queue": "default",
    "owner": "",
    "executor": None,
    "executor_config": None,
    "execution_timeout": None,
    "depends_on_past": False,
    "wait_for_downstream": False,
    "max_active_tis_per_dag": None,
    "max_active_tis_per_dagrun": None,
    "map_index_template": None,
    "do_xcom_push": True,
    "multiple_outputs": False,
    "outlets": (),
    "inlets": (),
    "deadline": None,
    "on_execute_callback": None,
    "on_success_callback": None,
    "on_failure_callback": None,
    "on_retry_callback": None,
    "on_skipped_callback": None,
    "doc_md": None,
}
#: Options of Airflow's that mean nothing here; taken, so that DAGs which give them load.
UNUSED = frozenset(
    {"email", "email_on_failure", "email_on_retry", "end_date", "ignore_first_depends_on_past", "logger_name", "provide_context"}
    | {"resources", "run_as_user", "show_return_value_in_logs", "sla", "start_date", "task_concurrency", "task_display_name"}
    | {"templates_exts"}
)


class BaseOperator(Edges):
    """One task of a DAG.  Subclass it, name ``template_fields``, and write ``execute(context)``."""

    template_fields: ClassVar[tuple[str, ...]] = ()
    #: What its result may leave untaken: ``branch`` names what goes on, ``short_circuit`` stops on a false one.
    branching: ClassVar[str | None] = None

    def __init__(self, task_id: str, *, dag: DAG | None = None, task_group: TaskGroup | None = None, **options: Any):
        owner = dag or (task_group.dag if task_group else current_dag())
        if owner is None:
            raise TypeError(f"task {task_id!r} is outside a DAG; put it in a `with DAG(...)` block or an @dag function")
        options = {k: v for k, v in options.items() if k not in UNUSED}
        unknown = sorted(set(options) - set(OPTIONS))
        if unknown:
            raise TypeError(f"task {task_id!r} has no option {unknown[0]!r}{nearest(unknown[0], list(OPTIONS))}")
        self.dag, self.group = owner, task_group or current_group(owner)
        self.task_id = self.group.child_id(task_id) if self.group else task_id
        defaults = {**owner.default_args, **(self.group.default_args if self.group else {})}
        self.options = {**OPTIONS, **{k: v for k, v in defaults.items() if k in OPTIONS}, **options}
        self.upstream: set[str] = set()
        self.labels: dict[str, str] = {}
        self.mapping: MappedOver | None = None
        #: Of a mapped operator that is made anew for each instance: the arguments that all of them share.
        self.fixed: dict[str, Any] | None = None
        self.is_setup = self.is_teardown = self.fails_run = False
        self.setups: list[BaseOperator] = []
        self.place = caller()
        owner.operators.append(self)
        for scope in owner.scopes:
            scope.take_in(self)

    def __setattr__(self, name: str, value: Any) -> None:
        """``task.doc_md = "…"``: options may be set afterwards too."""
        if name in OPTIONS and "options" in self.__dict__:
            self.options[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        options = self.__dict__.get("options", {})
        if name in OPTIONS and name in options:
            return options[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def firsts(self) -> list[BaseOperator]:
        return [self]

    @property
    def lasts(self) -> list[BaseOperator]:
        return [self]

    @property
    def mapped_group(self) -> TaskGroup | None:
        """The mapped task group it is in."""
        group = self.group
        while group is not None and group.mapping is None:
            group = group.parent
        return group

    @property
    def output(self) -> XComArg:
        return XComArg(self)

    @property
    def arguments(self) -> dict[str, Any]:
        """The templated fields by name: where upstream results may hide."""
        if self.fixed is not None:
            return self.fixed
        return {name: getattr(self, name) for name in self.template_fields}

    def execute(self, context: Mapping[str, Any]) -> Any:
        raise TypeError(f"operator {type(self).__name__} has no execute(context)")

    def defer(self, trigger: str, kwargs: Mapping[str, Any], method_name: str, timeout: timedelta | None = None) -> NoReturn:
        """Leave the worker until ``trigger`` (an import path under ``dagbook.triggers``) fires.

        ``kwargs`` are plain JSON values.  Then ``method_name(context, event)`` runs, in a new process.
        """
        raise TaskDeferred(trigger, dict(kwargs), method_name, timeout.total_seconds() if timeout else None)

    def link(self) -> None:
        """Depend on every task whose output is among the arguments."""
        sources = self.mapping.sources if self.mapping else {}
        for ref in (*references(self.arguments), *references(sources)):
            self.upstream |= {o.task_id for o in ref.operators}

    def as_setup(self) -> BaseOperator:
        """Make it a setup: it is run again with the tasks that need it when they are cleared."""
        self.is_setup = True
        return self

    def as_teardown(self, *, setups: Any = None, on_failure_fail_dagrun: bool | None = None) -> BaseOperator:
        """Make it a teardown of ``setups``: it runs if they succeeded, whatever became of the tasks between."""
        self.is_teardown = True
        self.options["trigger_rule"] = TriggerRule.ALL_DONE_SETUP_SUCCESS
        if on_failure_fail_dagrun is not None:
            self.fails_run = on_failure_fail_dagrun
        for item in _items(setups) if setups is not None else []:
            for setup in item.lasts:
                self.setups.append(setup.as_setup())
            connect(item, self)
        return self

    def __enter__(self) -> BaseOperator:
        """Tasks made inside run after this setup, or before this teardown and after its setups."""
        self.dag.scopes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        self.dag.scopes.remove(self)

    def take_in(self, operator: BaseOperator) -> None:
        for setup in [self] if self.is_setup else self.setups:
            connect(setup, operator)
        if self.is_teardown:
            connect(operator, self)

    @classmethod
    def partial(cls, **fixed: Any) -> Partial:
        """Fix some arguments; ``.expand(...)`` maps over the rest."""
        return Partial(cls._stand_in, fixed)

    @classmethod
    def _stand_in(cls, fixed: dict[str, Any], mapping: MappedOver) -> BaseOperator:
        """In the place of instances that can be made only when their arguments are known."""
        known = {*OPTIONS, "task_id", "dag", "task_group", *_parameters(cls)}
        for name in (*fixed, *mapping.arguments):
            if name not in known:
                raise TypeError(f"{cls.__name__} has no argument {name!r}{nearest(name, sorted(known))}")
        for name in mapping.arguments:
            if name in OPTIONS or name == "task_id":
                raise TypeError(f"{name} is the same for all instances of a mapped task; give it to partial()")
        made = cls.__new__(cls)
        own = {*OPTIONS, "task_id", "dag", "task_group"}
        BaseOperator.__init__(made, **{k: v for k, v in fixed.items() if k in own})
        made.fixed = {k: v for k, v in fixed.items() if k not in own}
        return made

    def unmapped(self, arguments: dict[str, Any]) -> BaseOperator:
        """One instance of this mapped operator, with its own ``arguments``; it isn't added to the DAG."""
        assert self.fixed is not None
        apart = DAG(self.dag.dag_id)
        made = type(self)(task_id=self.task_id, dag=apart, **{**self.fixed, **arguments})
        made.dag, made.group, made.options, made.mapping = self.dag, self.group, self.options, self.mapping
        return made


class Partial:
    """A task with some arguments fixed, waiting to be told what to map over."""

    def __init__(self, make: Callable[[dict[str, Any], MappedOver], BaseOperator], fixed: dict[str, Any]):
        self.make, self.fixed = make, fixed

    def expand(self, **mapped: Any) -> XComArg:
        """Run once for each element of each argument: lists, dicts or upstream results; several make the cross product."""
        if not mapped:
            raise TypeError("expand() needs at least one argument to map over")
        for name, values in mapped.items():
            mappable(name, values)
        return self._mapped(MappedOver(mapped))

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        """Run once for each dict of arguments in ``kwargs``: a list, or an upstream result that is one."""
        mappable("expand_kwargs", kwargs)
        return self._mapped(MappedOver(kwargs_list=kwargs))

    def _mapped(self, mapping: MappedOver) -> XComArg:
        twice = sorted(set(self.fixed) & set(mapping.arguments))
        if twice:
            raise TypeError(f"argument {twice[0]!r} is given to partial() and to expand()")
        operator = self.make(self.fixed, mapping)
        if operator.mapped_group is not None:
            raise TypeError(
                f"task {operator.task_id!r} is mapped inside the mapped task group {operator.mapped_group.group_id!r}; map over the "
                "product outside, or expand a list that holds both"
            )
        operator.mapping = mapping
        operator.link()
        return operator.output


def _parameters(cls: type[BaseOperator]) -> set[str]:
    """Names of all arguments that the class and its bases take."""
    inits = [c.__dict__["__init__"] for c in cls.__mro__ if "__init__" in c.__dict__ and c is not object]
    return {name for f in inits for name in inspect.signature(f).parameters if name != "self"}


class EmptyOperator(BaseOperator):
    """Does nothing: a place where edges meet."""

    def execute(self, context: Mapping[str, Any]) -> None:
        return None


class PythonOperator(BaseOperator):
    """Call ``python_callable`` with ``op_args`` and ``op_kwargs``; context names it declares are passed too."""

    template_fields: ClassVar[tuple[str, ...]] = ("op_args", "op_kwargs")

    def __init__(
        self,
        task_id: str,
        python_callable: Callable[..., Any],
        op_args: Iterable[Any] = (),
        op_kwargs: Mapping[str, Any] | None = None,
        **options: Any,
    ):
        super().__init__(task_id, **options)
        self.python_callable = python_callable
        self.op_args, self.op_kwargs = list(op_args), op_kwargs if isinstance(op_kwargs, Edges) else dict(op_kwargs or {})
        self.link()


class BashOperator(BaseOperator):
    """Run ``bash_command`` in the folder ``cwd``; its last line of output is the result.

    ``env`` is added to the environment, or with ``append_env=False`` is all of it.  ``skip_on_exit_code`` skips the task.
    """

    template_fields: ClassVar[tuple[str, ...]] = ("bash_command", "env", "cwd")

    def __init__(
        self,
        task_id: str,
        bash_command: str,
        env: Mapping[str, str] | None = None,
        *,
        append_env: bool = True,
        cwd: str | None = None,
        skip_on_exit_code: int | Iterable[int] | None = 99,
        **options: Any,
    ):
        options.pop("output_encoding", None)
        super().__init__(task_id, **options)
        self.bash_command, self.env, self.append_env, self.cwd = bash_command, dict(env or {}), append_env, cwd
        given = skip_on_exit_code if skip_on_exit_code is not None else ()
        self.skip_on_exit_code = (given,) if isinstance(given, int) else tuple(given)
        self.link()
