"""Awaitable waits for deferred tasks: a class takes plain keyword values and its ``run()`` returns the event."""
