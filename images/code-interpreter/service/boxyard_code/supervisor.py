"""Keeps a program running: `python3 -m boxyard_code.supervisor PROGRAM [ARGUMENT …]`.

Does for the code service what a service manager would do. When the program ends, it is started again: the first time at
once, and after up to five seconds if it ends repeatedly. A signal to end is passed on to the program, and ends both.
"""
import os
import select
import signal
import subprocess
import sys
import time

FIRST_WAIT_S = 0.1
MAX_WAIT_S = 5
# After the program has run for this long, its next end counts as the first one again.
GOOD_LIFE_S = 10
FORWARDED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    def __init__(self, argv):
        self._argv = argv
        self._child = None
        self._told_to_end = None
        # Every signal writes to this pipe, which ends the wait in `run`.
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)

    def run(self):
        """Runs the program until a signal ends both. Returns the exit code."""
        for number in FORWARDED:
            signal.signal(number, self._forward)
        wait = FIRST_WAIT_S
        while True:
            started = time.monotonic()
            code = self._run_once()
            if self._told_to_end is not None:
                return 128 + self._told_to_end
            if time.monotonic() - started >= GOOD_LIFE_S:
                wait = FIRST_WAIT_S
            print(f"{self._argv[0]} has ended ({code}); it is started again", file=sys.stderr, flush=True)
            select.select([self._woken], [], [], wait)
            wait = min(wait * 2, MAX_WAIT_S)

    def _run_once(self):
        # Signals are blocked: one that arrives after the start, but before `_child` is set, would not reach the program.
        signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
        try:
            if self._told_to_end is None:
                self._child = subprocess.Popen(self._argv, preexec_fn=_unblock)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
        return None if self._child is None else self._child.wait()

    def _forward(self, number, _frame):
        self._told_to_end = number
        if self._child is not None:
            self._child.send_signal(number)


def _unblock():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)


if __name__ == "__main__":
    sys.exit(Supervisor(sys.argv[1:]).run())
