"""Contexts: each has an id and a kernel, and runs its cells one after the other."""
import asyncio
import logging
import time
import uuid

from . import limits
from .execution import Execution
from .kernel import Kernel, KernelDied, death_line
from .languages import SHARED_WITH, find_language
from .results import error

log = logging.getLogger("boxyard_code")


class TooMany(Exception):
    """A limit is reached; clients get the text."""


class Context:
    """Has the same id when its kernel is started again."""

    def __init__(self, language, cwd, baseline):
        self.id = str(uuid.uuid4())
        self.language = language
        self.cwd = cwd
        self._baseline = baseline
        self._kernel = None
        # Environment variables of the kernel that differ from those of its start.
        self._variables = {}
        self._turn = asyncio.Lock()
        self._queued = 0
        self._quick_deaths = 0
        self._closed = False

    def describe(self):
        return {"id": self.id, "language": self.language.name, "cwd": self.cwd}

    async def warm_up(self, process=None):
        """Starts the kernel before the first cell, in `process` if it is given. False if this fails; the next cell then tries again."""
        async with self._turn:
            try:
                await self._ready(process)
            except Exception:
                log.exception("the %s kernel does not start", self.language.name)
                return False
        return True

    def execute(self, code, variables):
        """Adds a cell to the queue. Returns the iterator of its lines. Raises TooMany."""
        if self._queued >= limits.MAX_QUEUED:
            raise TooMany(f"{limits.MAX_QUEUED} cells wait for this context already")
        self._queued += 1
        execution = Execution()
        task = asyncio.create_task(self._take_turn(code, variables, execution))
        task.add_done_callback(lambda _: self._leave())
        return execution

    async def restart(self):
        """Ends the kernel, even during a cell; a new one starts when it is needed."""
        old, self._kernel = self._kernel, None
        if old is not None:
            await old.close()
        self._quick_deaths = 0

    async def close(self):
        self._closed = True
        await self.restart()

    def _leave(self):
        self._queued -= 1

    async def _take_turn(self, code, variables, execution):
        try:
            async with self._turn:
                if not execution.is_over:
                    await self._run(code, variables, execution)
        except KernelDied:
            execution.put(death_line())
        except asyncio.TimeoutError:
            execution.put(error("KernelTimeout", f"the {self.language.name} kernel does not answer; it is started again"))
            await self.restart()
        except Exception as failure:
            log.exception("a cell could not be run")
            execution.put(error("KernelError", f"the {self.language.name} kernel could not run this: {failure}"))
        finally:
            execution.finish()

    async def _run(self, code, variables, execution):
        kernel = await self._ready()
        await self._adapt(kernel, variables)
        stop = asyncio.Event()

        def on_line(line):
            if not execution.put(line):
                stop.set()

        work = asyncio.create_task(kernel.execute(code, on_line))
        wanted = {asyncio.create_task(stop.wait()), asyncio.create_task(execution.abandoned.wait())}
        try:
            await asyncio.wait({work, *wanted}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await self._interrupt(kernel, work)
            await work
        finally:
            for task in (work, *wanted):
                task.cancel()

    async def _interrupt(self, kernel, work):
        """Interrupts a cell whose client has disconnected, or that has too much output. If the cell does not end, its kernel is started again."""
        kernel.interrupt()
        done, _ = await asyncio.wait({work}, timeout=limits.INTERRUPT_LIMIT_S)
        if not done:
            log.warning("a cell went on after its interruption; its kernel is started again")
            await self.restart()

    async def _adapt(self, kernel, variables):
        """Gives the kernel the environment variables of this cell; sets only those that differ."""
        wanted = {name: value for name, value in variables.items() if self._baseline.get(name) != value}
        change = {name: self._baseline.get(name) for name in self._variables if name not in wanted}
        change.update({name: value for name, value in wanted.items() if self._variables.get(name) != value})
        await kernel.set_variables(change)
        self._variables = wanted

    async def _ready(self, process=None):
        """The kernel; starts one if none is alive."""
        if self._closed:
            raise RuntimeError("the context was removed")
        if self._kernel is not None and not self._kernel.died.is_set():
            return self._kernel
        if self._kernel is not None:
            await self._kernel.close()
        kernel = self._kernel = Kernel(self.language, self.cwd, process)
        self._variables = {}
        try:
            await kernel.start()
        except BaseException:
            await kernel.close()
            raise
        self._revive_later(kernel)
        return kernel

    def _revive_later(self, kernel):
        """Starts a new kernel as soon as the kernel dies by itself, so that the next cell does not wait for the start."""
        started = time.monotonic()

        async def watch():
            await kernel.died.wait()
            if self._kernel is not kernel:
                return  # restarted or removed on purpose
            self._quick_deaths = self._quick_deaths + 1 if time.monotonic() - started < limits.QUICK_DEATH_S else 0
            if self._quick_deaths < limits.MAX_QUICK_DEATHS:
                await self.warm_up()

        self._watching = asyncio.create_task(watch())


class Contexts:
    """All contexts, including the default contexts, in which cells without a context run."""

    def __init__(self, baseline):
        self._baseline = baseline
        self._by_id = {}
        self._defaults = {}

    def default(self, language):
        """The context for cells of a language that name no context."""
        name = SHARED_WITH.get(language.name, language.name)
        found = self._defaults.get(name)
        if found is None or found.id not in self._by_id:
            found = self._defaults[name] = self._add(Context(find_language(name), limits.DEFAULT_CWD, self._baseline))
        return found

    def create(self, language, cwd):
        return self._add(Context(language, cwd, self._baseline))

    def get(self, context_id):
        """Raises KeyError."""
        return self._by_id[context_id]

    def list(self):
        return list(self._by_id.values())

    async def remove(self, context_id):
        """Raises KeyError."""
        await self._by_id.pop(context_id).close()

    async def close(self):
        await asyncio.gather(*(self.remove(context_id) for context_id in list(self._by_id)))

    def _add(self, context):
        if len(self._by_id) >= limits.MAX_CONTEXTS:
            raise TooMany(f"there are {limits.MAX_CONTEXTS} contexts already; remove one")
        self._by_id[context.id] = context
        return context
