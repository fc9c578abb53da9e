"""Starts the Python kernel: ipykernel with displays.py, and without dropping output on the way to the service."""
import zmq
from ipykernel.kernelapp import IPKernelApp


class PythonKernelApp(IPKernelApp):
    name = "boxyard-python"

    def init_iopub(self, context):
        # By default the kernel drops output when a thousand messages wait to be read. The service always reads, and interrupts
        # cells with too much output.
        context.setsockopt(zmq.SNDHWM, 0)
        super().init_iopub(context)

    def log_connection_info(self):
        pass  # the service has the connection file already, and no other client may connect


if __name__ == "__main__":
    PythonKernelApp.launch_instance(extensions=["boxyard_code.displays"])
