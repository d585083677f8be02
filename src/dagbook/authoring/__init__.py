"""What DAG authors write with: DAG, task, operators, mapping, params; frozen into ``spec``."""
