"""The task's end of the task execution protocol: one request, one reply."""

from __future__ import annotations

import socket
import threading

from dagbook.errors import StaleTry
from dagbook.wire.tasks import Refused, Reply, Request, encode, reply_decoder
from dagbook.worker import frames


class Channel:
    """Calls are serialised, so user threads may share it."""

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._lock = threading.Lock()

    def ask(self, request: Request) -> Reply:
        """``StaleTry`` when the engine refuses this try; ``ConnectionError`` when the engine has gone."""
        with self._lock:
            frames.send(self._sock, encode(request))
            data = frames.receive(self._sock)
        if data is None:
            raise ConnectionError("the engine closed the task's channel")
        reply = reply_decoder.decode(data)
        if isinstance(reply, Refused):
            raise StaleTry(reply.reason)
        return reply
