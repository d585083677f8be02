"""Running a DAG without an engine: the same decisions, in one process, with everything in memory."""
