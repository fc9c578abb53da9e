import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Writes its pid to a file at each start. The first two runs end at once, later runs keep running.
PROGRAM = """
import os, signal, sys, time
with open(sys.argv[1], 'a') as lives: lives.write(f'{os.getpid()}\\n')
signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1], 'a').write('told\\n'), sys.exit(7)))
if open(sys.argv[1]).read().count('\\n') > 2: time.sleep(60)
"""


def eventually(look, within=20.0):
    deadline = time.monotonic() + within
    while not look():
        if time.monotonic() > deadline:
            raise AssertionError("not in time")
        time.sleep(0.02)


class Supervised(unittest.TestCase):
    def setUp(self):
        handle, self.path = tempfile.mkstemp()
        os.close(handle)
        self.addCleanup(os.unlink, self.path)
        argv = [sys.executable, "-m", "boxyard_code.supervisor", sys.executable, "-c", PROGRAM, self.path]
        self.supervisor = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: self.supervisor.poll() is None and self.supervisor.kill())

    def lives(self):
        with open(self.path) as lives:
            return lives.read().splitlines()

    def test_it_starts_its_program_again_and_passes_the_signal_on(self):
        eventually(lambda: len(self.lives()) == 3)
        os.kill(int(self.lives()[-1]), signal.SIGKILL)
        eventually(lambda: len(self.lives()) == 4)
        self.supervisor.send_signal(signal.SIGTERM)
        self.assertEqual(self.supervisor.wait(20), 128 + signal.SIGTERM)
        self.assertEqual(self.lives()[-1], "told")
        self.assertEqual(len(self.lives()), 5)


class Waiting(unittest.TestCase):
    def test_a_signal_ends_its_wait_too(self):
        supervisor = subprocess.Popen([sys.executable, "-m", "boxyard_code.supervisor", "false"], stderr=subprocess.PIPE)
        try:
            for _ in range(3):
                self.assertIn(b"it is started again", supervisor.stderr.readline())
            supervisor.send_signal(signal.SIGINT)
            self.assertEqual(supervisor.wait(20), 128 + signal.SIGINT)
        finally:
            supervisor.kill()
            supervisor.stderr.close()


if __name__ == "__main__":
    unittest.main()
