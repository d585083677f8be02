"""What every handler does: identity, JSON in and out, errors as ``Problem``."""

from __future__ import annotations

import functools
import getpass
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
import structlog
from jupyter_server.auth import identity
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from tornado.web import HTTPError, authenticated

from dagbook.api.engine import Engine
from dagbook.api.faults import problem
from dagbook.errors import Invalid

log = structlog.get_logger(__name__)
RESOURCE = "dagbook"
T = TypeVar("T")
Method = Callable[..., Awaitable[None]]
#: Identity providers of one-user servers name their user anew in every session.
_ONE_USER = (identity.IdentityProvider, identity.PasswordIdentityProvider, identity.LegacyIdentityProvider)


def endpoint(method: Method) -> Method:
    """Signed-in users only, whom the server's authorizer lets; what is raised becomes a ``Problem``."""

    @functools.wraps(method)
    async def answer(self: Handler, *args: Any, **kwargs: Any) -> None:
        try:
            await method(self, *args, **kwargs)
        except HTTPError:
            raise
        except Exception as e:
            self.say_problem(e)

    return authenticated(authorized(answer))  # type: ignore[no-any-return]


class Handler(APIHandler):
    auth_resource = RESOURCE

    @property
    def engine(self) -> Engine:
        return self.settings["dagbook_engine"]  # type: ignore[no-any-return]

    @property
    def author(self) -> str:
        return author(self)

    def say(self, body: Any, status: int = 200) -> None:
        self.set_status(status)
        self.set_header("Content-Type", "application/json")
        self.finish(msgspec.json.encode(body))

    def say_problem(self, error: Exception) -> None:
        status, body = problem(error)
        if status == 500:
            log.error("unforeseen error in a handler", path=self.request.path, exc_info=error)
        self.say(body, status)

    def body(self, kind: type[T]) -> T:
        return msgspec.json.decode(self.request.body or b"{}", type=kind)

    def number(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """The query argument ``name``; ``Invalid`` unless it is a whole number within [low, high]."""
        raw = self.get_query_argument(name, "")
        if raw == "":
            return default
        try:
            value = int(raw)
        except ValueError:
            raise Invalid(f"{name}={raw!r} is not a whole number") from None
        if not low <= value <= high:
            raise Invalid(f"{name}={value} must lie between {low} and {high}")
        return value


def author(handler: JupyterHandler) -> str:
    """Who a draft belongs to: the signed-in user, or on a one-user server the account it runs under."""
    if type(handler.identity_provider) in _ONE_USER:
        return getpass.getuser()
    return str(handler.current_user.username)
