"""Running a DAG without an engine: the same decisions, in one process, with everything in memory."""

from dagbook.testing.inprocess import TaskResult, TestRun, run_source, test_run

__all__ = ["TaskResult", "TestRun", "run_source", "test_run"]
