"""Runs user code.  No database here: a task process speaks the task execution protocol over a socket."""
