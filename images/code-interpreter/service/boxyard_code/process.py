"""A kernel's process, and the connection file for the kernel and the service. Standard library only: the first kernel starts before other modules load."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import uuid

_CHANNELS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
_DIRECTORY = os.path.join(tempfile.gettempdir(), f".boxyard-code-{os.getuid()}")

# Kills a kernel when the service ends, also if the service was killed.
_TIED = ("setpriv", "--pdeathsig", "KILL", "--")


def forget_old_kernels():
    """Removes the files of kernels of a killed service; the kernels themselves ended with the service."""
    shutil.rmtree(_DIRECTORY, ignore_errors=True)


class KernelProcess:
    """The constructor starts the process in a process group of its own, so that everything that it starts ends with it."""

    def __init__(self, language, cwd):
        os.makedirs(_DIRECTORY, mode=0o700, exist_ok=True)
        self._directory = tempfile.mkdtemp(dir=_DIRECTORY)
        path = os.path.join(self._directory, "connection.json")
        self.connection = _tcp() if language.transport == "tcp" else _ipc(os.path.join(self._directory, "channel"))
        self.connection.update(key=str(uuid.uuid4()), signature_scheme="hmac-sha256", kernel_name=language.name)
        with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            json.dump(self.connection, file)
        argv = [path if word == "{connection_file}" else word for word in (*_TIED, *language.argv)]
        self._interrupts_by_signal = language.interrupt_mode == "signal"
        try:
            self._process = subprocess.Popen(
                argv, cwd=cwd, env={**os.environ, **dict(language.env)}, stdin=subprocess.DEVNULL, start_new_session=True
            )
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise

    @property
    def pid(self):
        return self._process.pid

    def interrupt(self):
        """False if this kernel is interrupted by a message instead."""
        if self._interrupts_by_signal:
            self._signal(signal.SIGINT)
        return self._interrupts_by_signal

    def end(self):
        """Kills the process group and removes the files. Repeatable."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _signal(self, number):
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                pass


def _ipc(path):
    return {"transport": "ipc", "ip": path, **{name: i for i, name in enumerate(_CHANNELS, 1)}}


def _tcp():
    """Ports that are free now. If another program takes one before the kernel does, the kernel fails and is started again."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in _CHANNELS]
    try:
        return {"transport": "tcp", "ip": "127.0.0.1", **{name: one.getsockname()[1] for name, one in zip(_CHANNELS, sockets)}}
    finally:
        for one in sockets:
            one.close()
