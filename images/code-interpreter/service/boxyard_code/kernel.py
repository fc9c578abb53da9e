"""One Jupyter kernel: its process, its channels, and one request at a time."""
import asyncio
import os

import zmq
import zmq.asyncio
from jupyter_client.asynchronous import AsyncKernelClient

from . import limits
from .process import KernelProcess
from .results import error, lines_of


class KernelDied(Exception):
    """The process ended during a request."""


class _Request:
    def __init__(self, message_id, on_message):
        self.message_id = message_id
        self.on_message = on_message
        self.replied = asyncio.Event()
        self.idle = asyncio.Event()
        # Number of output messages received so far.
        self.heard = 0


class Kernel:
    def __init__(self, language, cwd, process=None):
        """`process`: a kernel process that runs already; by default a new one is started."""
        self._language = language
        self._process = process or KernelProcess(language, cwd)
        self._context = zmq.asyncio.Context()
        self._context.setsockopt(zmq.RCVHWM, 0)  # the service always reads, and drops messages of no present request
        self._context.setsockopt(zmq.RECONNECT_IVL, 10)
        self._client = AsyncKernelClient(context=self._context)
        self._tasks = []
        # Requests whose messages are used: the present one, and an earlier one whose output may still arrive.
        self._requests = []
        self._pidfd = None
        self.died = asyncio.Event()

    async def start(self):
        """Waits until the kernel answers. Raises KernelDied, TimeoutError."""
        self._watch()
        self._client.load_connection_info(self._process.connection)
        self._client.start_channels(stdin=False, hb=False)
        self._tasks = [
            asyncio.create_task(self._read(self._client.get_iopub_msg, self._on_output)),
            asyncio.create_task(self._read(self._client.get_shell_msg, self._on_reply)),
        ]
        await asyncio.wait_for(self._until_heard(), limits.START_LIMIT_S)
        if self._language.first:
            await self.quietly(self._language.first)

    async def execute(self, code, on_line):
        """Runs a cell to its end and calls `on_line` with each line. Raises KernelDied."""

        def on_message(message):
            for line in lines_of(message):
                on_line(line)

        request = await self._run(code, on_message, silent=False)
        if self._language.needs_fence:
            await self.quietly("undefined", beside=request)
        self._requests = []

    async def quietly(self, code, beside=None):
        """Runs code of the service, which is neither counted nor shown. `beside`: a request whose late output is still used."""
        await asyncio.wait_for(self._run(code, _ignore, silent=True, beside=beside), limits.QUIET_LIMIT_S)

    async def set_variables(self, variables):
        if variables:
            await self.quietly(self._language.set_variables(variables))

    def interrupt(self):
        if not self._process.interrupt():
            self._client.control_channel.send(self._client.session.msg("interrupt_request", {}))

    async def close(self):
        """Ends the process and everything that it has started in its process group. Repeatable."""
        for task in self._tasks:
            task.cancel()
        self._tasks = []
        self._unwatch()
        self._client.stop_channels()
        self._process.end()
        self.died.set()
        self._context.destroy(linger=0)

    async def _run(self, code, on_message, silent, beside=None):
        if self.died.is_set():
            raise KernelDied()
        message_id = self._client.execute(code, silent=silent, store_history=not silent, allow_stdin=False)
        request = _Request(message_id, on_message)
        self._requests = [request] if beside is None else [request, beside]
        await self._until_alive(request.replied.wait())
        # Output arrives on a channel of its own. A lost message must not delay the answer for ever.
        while not request.idle.is_set():
            heard = request.heard
            try:
                await self._until_alive(request.idle.wait(), limits.LATE_OUTPUT_S)
            except asyncio.TimeoutError:
                if request.heard == heard:
                    break
        return request

    async def _until_heard(self):
        """Waits until the kernel answers and its output arrives. Messages that it sends before a channel is connected are lost."""
        while True:
            request = _Request(self._client.kernel_info(), _ignore)
            self._requests = [request]
            await self._until_alive(request.replied.wait())
            try:
                return await self._until_alive(request.idle.wait(), limits.HEARD_S)
            except asyncio.TimeoutError:
                pass

    async def _until_alive(self, awaitable, timeout=None):
        """The result of `awaitable`. Raises KernelDied if the process ends first, TimeoutError."""
        work = asyncio.ensure_future(awaitable)
        death = asyncio.ensure_future(self.died.wait())
        try:
            await asyncio.wait({work, death}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            raise KernelDied() if death.done() else asyncio.TimeoutError()
        finally:
            work.cancel()
            death.cancel()

    async def _read(self, receive, handle):
        while True:
            handle(await receive())

    def _on_output(self, message):
        for request in self._requests:
            if message["parent_header"].get("msg_id") != request.message_id:
                continue
            request.heard += 1
            if message["msg_type"] != "status":
                request.on_message(message)
            elif message["content"]["execution_state"] == "idle":
                request.idle.set()

    def _on_reply(self, message):
        for request in self._requests:
            if message["parent_header"].get("msg_id") == request.message_id:
                request.replied.set()

    def _watch(self):
        """Sets `died` when the process ends. The operating system reports the end; polling would keep an idle sandbox awake."""
        self._pidfd = os.pidfd_open(self._process.pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_end)

    def _on_end(self):
        self._unwatch()
        self.died.set()

    def _unwatch(self):
        if self._pidfd is not None:
            asyncio.get_running_loop().remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None


def _ignore(_message):
    pass


def death_line():
    return error("KernelDied", "the kernel has ended; a new one takes its place, and what the old one held is lost")
