"""Runs a program that a document shows: program.py TEXT.

The published asynchronous client has threads of its own. One that reports a result while the interpreter ends is stopped by
Python within native code, which aborts the process (exit code 134) after the program has done all it was to do. So the process
ends here, with everything printed, without the interpreter's end.
"""
import os
import sys
import traceback

try:
    exec(compile(sys.argv[1], "program", "exec"), {"__name__": "__main__"})
except BaseException:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
