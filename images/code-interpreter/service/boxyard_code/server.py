"""The code service's HTTP interface (docs/contract/code-interpreter.md)."""
import asyncio
import json
import os

from tornado.iostream import StreamClosedError
from tornado.web import Application, RequestHandler

from . import limits
from .contexts import TooMany
from .languages import find_language


class Refusal(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status
        self.text = text


class Handler(RequestHandler):
    def initialize(self, service):
        self.service = service

    def write_error(self, status_code, exc_info=None, **kwargs):
        failure = exc_info[1] if exc_info else None
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        if isinstance(failure, Refusal):
            self.set_status(failure.status)
            self.finish(failure.text)
        elif isinstance(failure, TooMany):
            self.set_status(429)
            self.finish(str(failure))
        else:
            self.finish(self._reason)

    def log_exception(self, kind, value, trace):
        if not isinstance(value, (Refusal, TooMany)):
            super().log_exception(kind, value, trace)

    def members(self, **kinds):
        """The members of a JSON body with these names, each of its type or None."""
        try:
            body = json.loads(self.request.body or b"{}")
        except ValueError:
            raise Refusal(400, "the body is not JSON") from None
        if not isinstance(body, dict):
            raise Refusal(400, "the body is not a JSON object")
        for name, kind in kinds.items():
            value = body.get(name)
            if value is not None and not isinstance(value, kind):
                raise Refusal(400, f"{name}: must be {'an object' if kind is dict else 'a string'}")
        return [body.get(name) for name in kinds]

    def language(self, text):
        try:
            return find_language(text)
        except ValueError as failure:
            raise Refusal(400, str(failure)) from None

    def context(self, context_id):
        try:
            return self.service.contexts.get(context_id)
        except KeyError:
            raise Refusal(404, f"Context {context_id[:100]} not found") from None


class Health(Handler):
    async def get(self):
        # The answer waits until the kernel is ready: a client that polls would take CPU time from the start of the kernel.
        try:
            await asyncio.wait_for(self.service.ready.wait(), limits.HEALTH_WAIT_S)
        except asyncio.TimeoutError:
            raise Refusal(503, "the Python kernel is not yet ready") from None
        self.write("OK")


class Contexts(Handler):
    def get(self):
        self._send([context.describe() for context in self.service.contexts.list()])

    async def post(self):
        language, cwd = self.members(language=str, cwd=str)
        found = self.language(language)
        directory = cwd or limits.DEFAULT_CWD
        if not os.path.isabs(directory) or not os.path.isdir(directory):
            raise Refusal(400, f"cwd: there is no directory {directory[:1000]}")
        if not os.access(directory, os.X_OK):
            raise Refusal(400, f"cwd: the user of the code service may not enter {directory[:1000]}")
        context = self.service.contexts.create(found, directory)
        if not await context.warm_up():
            await self.service.contexts.remove(context.id)
            raise Refusal(500, f"the {found.name} kernel does not start")
        self._send(context.describe())

    def _send(self, value):
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(value))


class OneContext(Handler):
    async def delete(self, context_id):
        self.context(context_id)
        await self.service.contexts.remove(context_id)
        self.set_status(204)


class RestartContext(Handler):
    async def post(self, context_id):
        context = self.context(context_id)
        await context.restart()
        await context.warm_up()
        self.write(context.describe())


class Execute(Handler):
    execution = None

    async def post(self):
        code, context_id, language, env_vars = self.members(code=str, context_id=str, language=str, env_vars=dict)
        if code is None:
            raise Refusal(400, "code: is required")
        if context_id and language:
            raise Refusal(400, "Only one of context_id or language can be provided")
        if env_vars and not all(isinstance(value, str) and "\0" not in name + value and "=" not in name for name, value in env_vars.items()):
            raise Refusal(400, "env_vars: must hold names and strings")
        context = self.context(context_id) if context_id else self.service.contexts.default(self.language(language))
        token = self.request.headers.get("X-Access-Token")
        variables = {**await self.service.environment.read(token), **(env_vars or {})}
        self.set_header("Content-Type", "application/x-ndjson")
        self.execution = context.execute(code, variables)
        try:
            async for line in self.execution:
                self.write(line)
                await self.flush()
        except StreamClosedError:
            self.execution.abandon()

    def on_connection_close(self):
        # The client has disconnected, so the cell is interrupted.
        if self.execution is not None:
            self.execution.abandon()


def application(service):
    shared = {"service": service}
    return Application(
        [
            (r"/health", Health, shared),
            (r"/execute", Execute, shared),
            (r"/contexts", Contexts, shared),
            (r"/contexts/([^/]+)", OneContext, shared),
            (r"/contexts/([^/]+)/restart", RestartContext, shared),
        ],
        log_function=lambda handler: None,
    )
