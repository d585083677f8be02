"""Framed messages over a stream socket, with file descriptors beside them where needed."""

from __future__ import annotations

import socket
import struct

_HEADER = struct.Struct("!I")


def send(sock: socket.socket, payload: bytes, fds: tuple[int, ...] = ()) -> None:
    frame = _HEADER.pack(len(payload)) + payload
    if fds:
        sent = socket.send_fds(sock, [frame], list(fds))
        frame = frame[sent:]
    sock.sendall(frame)


def receive(sock: socket.socket) -> bytes | None:
    """One whole frame, or ``None`` at the end of the stream."""
    header = _exactly(sock, _HEADER.size)
    return None if header is None else _exactly(sock, _HEADER.unpack(header)[0])


def _exactly(sock: socket.socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = sock.recv(min(size - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


class FrameBuffer:
    """Bytes as they come in, whole frames out; for a reader that must not block."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        self._data += data
        frames = []
        while len(self._data) >= _HEADER.size:
            size = _HEADER.unpack_from(self._data)[0]
            if len(self._data) < _HEADER.size + size:
                break
            frames.append(bytes(self._data[_HEADER.size : _HEADER.size + size]))
            del self._data[: _HEADER.size + size]
        return frames


def pack(payload: bytes) -> bytes:
    return _HEADER.pack(len(payload)) + payload
