"""Starts and ends the code service: contexts, environment and HTTP interface."""
import asyncio
import logging
import signal

from tornado.httpserver import HTTPServer

from . import limits
from .agent_env import AgentEnvironment
from .contexts import Contexts
from .languages import LANGUAGES
from .server import application


class Service:
    def __init__(self, baseline):
        self.contexts = Contexts(baseline)
        self.environment = AgentEnvironment()
        self.ready = asyncio.Event()


def run(first_kernel, baseline):
    """Serves until SIGTERM or SIGINT. `first_kernel`: the kernel process of the default Python context."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(_serve(first_kernel, baseline))


async def _serve(first_kernel, baseline):
    service = Service(baseline)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = HTTPServer(application(service), max_buffer_size=limits.MAX_BODY_BYTES, max_body_size=limits.MAX_BODY_BYTES)
    python = service.contexts.default(LANGUAGES["python"])
    # The default JavaScript context exists from the start. Its kernel starts with the first cell, because most sandboxes never need it.
    if "javascript" in LANGUAGES:
        service.contexts.default(LANGUAGES["javascript"])
    server.listen(limits.PORT)
    stopped = asyncio.create_task(stop.wait())
    warm = asyncio.create_task(python.warm_up(first_kernel))
    await asyncio.wait({stopped, warm}, return_when=asyncio.FIRST_COMPLETED)
    if not stopped.done() and not warm.result():
        raise SystemExit("the Python kernel does not start")
    service.ready.set()
    await stopped
    server.stop()
    await service.contexts.close()
