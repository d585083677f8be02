"""A DAG as data: no callables, no user objects."""
