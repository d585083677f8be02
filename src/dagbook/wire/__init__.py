"""Shapes that cross a process border: REST, events, and the task execution protocol."""
