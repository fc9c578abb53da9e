"""Runs the code service until a signal ends it."""
import os

from .languages import LANGUAGES
from .limits import DEFAULT_CWD
from .process import KernelProcess, forget_old_kernels

if __name__ == "__main__":
    # The kernel starts first, so that it loads its modules while this process loads the service's modules.
    forget_old_kernels()
    first_kernel = KernelProcess(LANGUAGES["python"], DEFAULT_CWD)

    from .service import run

    run(first_kernel, dict(os.environ))
