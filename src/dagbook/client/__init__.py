"""How kernels and other programs reach the engine: its REST API and its events, as their user."""

from dagbook.client.discover import Server, find
from dagbook.client.http import Api

__all__ = ["Api", "Server", "find"]
