"""Starts the Python kernel: ipykernel with our displays, and nothing of its output dropped on the way to the service."""
import zmq
from ipykernel.kernelapp import IPKernelApp


class PythonKernelApp(IPKernelApp):
    name = "boxyard-python"

    def init_iopub(self, context):
        # By default what a cell shows faster than it is read is dropped from the thousandth message on. The service reads
        # always, and ends cells that make too much.
        context.setsockopt(zmq.SNDHWM, 0)
        super().init_iopub(context)

    def log_connection_info(self):
        pass  # the service knows where it is, and nobody else is to come


if __name__ == "__main__":
    PythonKernelApp.launch_instance(extensions=["boxyard_code.displays"])
