"""The execution of one cell: the caller reads the lines of the cell from it."""
import asyncio

from . import limits
from .results import encode, error

_END = None


class Execution:
    """An asynchronous iterator of the encoded lines of a cell. The size of lines that are not yet read is limited."""

    def __init__(self):
        self._lines = asyncio.Queue()
        self._pending = 0
        self._taking = True
        self.is_over = False
        self.abandoned = asyncio.Event()

    def put(self, line):
        """Adds a line. False if the limit is reached; then the caller must end the cell."""
        if self.is_over or not self._taking:
            return True
        data = encode(line)
        if self._pending + len(data) > limits.MAX_PENDING_BYTES:
            self._taking = False
            text = f"more than {limits.MAX_PENDING_BYTES} bytes of output wait to be taken; the cell was interrupted"
            self._lines.put_nowait(encode(error("OutputLimit", text)))
            return False
        self._pending += len(data)
        self._lines.put_nowait(data)
        return True

    def finish(self):
        """Adds the last line; `put` adds none after it."""
        if not self.is_over:
            self.is_over = True
            self._lines.put_nowait(encode({"type": "end_of_execution"}))
            self._lines.put_nowait(_END)

    def abandon(self):
        """Called when the client reads no more lines."""
        self.is_over = True
        self.abandoned.set()
        self._lines.put_nowait(_END)

    def __aiter__(self):
        return self

    async def __anext__(self):
        """The next line; a keepalive if there is no line for some seconds."""
        try:
            data = await asyncio.wait_for(self._lines.get(), limits.KEEPALIVE_S)
        except asyncio.TimeoutError:
            return encode({"type": "keepalive"})
        if data is _END:
            raise StopAsyncIteration
        self._pending -= len(data)
        return data
