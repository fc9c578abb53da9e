"""Runs one scenario with the published Python client: run.py sync|async SCENARIO [MODULE]; or many, as `run.py serve` is asked to.

The environment holds nothing but the variables that `boxyard env` prints. A scenario is written once: `do` awaits what the
asynchronous client returns and passes on what the synchronous one does; where the two differ, `Flavour` says how.
"""
import asyncio
import contextlib
import importlib
import inspect
import json
import os
import signal
import sys
import time
import traceback

import e2b

# Compiled modules are not written to the checkout. The client has its own beside its packages; those of Python are there already.
sys.pycache_prefix = os.path.join(os.path.dirname(e2b.__file__), os.pardir, os.pardir, "bytecode")


async def do(value):
    return await value if inspect.isawaitable(value) else value


async def eventually(what, look, within=10.0):
    """Looks every 20 ms until the result is true; fails after `within` seconds."""
    deadline = time.monotonic() + within
    while True:
        seen = await do(look())
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within} s: {what}")
        await asyncio.sleep(0.02)


class Flavour:
    def __init__(self, name):
        self.is_async = name == "async"
        self.Sandbox = e2b.AsyncSandbox if self.is_async else e2b.Sandbox

    async def watch(self, sandbox, path, **options):
        """Returns the handle and a function that gives every event seen so far."""
        seen = []
        if self.is_async:
            return await sandbox.files.watch_dir(path, seen.append, **options), lambda: seen
        handle = sandbox.files.watch_dir(path, **options)

        def poll():
            seen.extend(handle.get_new_events())
            return seen

        return handle, poll

    async def terminal(self, sandbox, size, **options):
        """Returns a new terminal's handle and a function that waits for its end and gives all it showed."""
        return await self._shown(sandbox.pty.create, size, options)

    async def connected_terminal(self, sandbox, pid, **options):
        """The same for a terminal that runs already."""
        return await self._shown(sandbox.pty.connect, pid, options)

    async def _shown(self, opening, argument, options):
        shown = bytearray()
        if self.is_async:
            handle = await opening(argument, on_data=shown.extend, **options)
            ended = handle.wait
        else:
            handle = opening(argument, **options)
            ended = lambda: handle.wait(on_pty=shown.extend)

        async def finish():
            await do(ended())
            return shown.decode()

        return handle, finish

    async def feed(self, module, pid, pieces):
        """Sends the pieces as one stream of input; `module` is the sandbox's commands or its terminals."""
        if not self.is_async:
            return module.stream_input(pid, pieces)
        async with module.stream_input(pid) as handle:
            for piece in pieces:
                await handle.send(piece)


async def main(name, scenario, module="scenarios"):
    await getattr(importlib.import_module(module), scenario)(Flavour(name))


def run(*words):
    try:
        asyncio.run(main(*words))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    # The client's native threads may still run; an interpreter that ends under them makes them panic.
    os._exit(0)


def serve():
    """Each line of the input is JSON: a limit in seconds and the words of a scenario. Each is answered by a line: [exit code, output].

    Importing the client takes longer than most scenarios, so it is imported once. Each scenario still has a process of its own.
    """
    for line in sys.stdin:
        seconds, *words = json.loads(line)
        with contextlib.suppress(Exception):  # The scenario's own process will say it.
            importlib.import_module(words[-1])
        print(json.dumps(apart(seconds, words)), flush=True)


def apart(seconds, words):
    """Runs a scenario in a process of its own. What that holds was imported, and nothing has run: a fork keeps only one thread."""
    assert len(os.listdir("/proc/self/task")) == 1
    output, its_output = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(its_output, 1)
        os.dup2(its_output, 2)
        os.close(output)
        run(*words)
    os.close(its_output)
    with open(output, errors="replace") as said:
        text = said.read()
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text]


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        run(*sys.argv[1:])
