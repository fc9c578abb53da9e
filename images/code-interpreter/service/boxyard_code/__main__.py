"""Runs the code service until it is told to end."""
import os

from .languages import LANGUAGES
from .limits import DEFAULT_CWD
from .process import KernelProcess, forget_old_kernels

if __name__ == "__main__":
    # The Python kernel loads its modules while this process loads its own.
    forget_old_kernels()
    first_kernel = KernelProcess(LANGUAGES["python"], DEFAULT_CWD)

    from .service import run

    run(first_kernel, dict(os.environ))
