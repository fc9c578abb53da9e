"""Speaks launch's protocol (native/guest/launch/launch.c) from the outside: gives it orders, prints what came of each as a line of JSON.

argv[1]: path of launch. Standard input: a JSON list of orders, each {"texts": [...], "file"?: bool, "descriptors"?: int}. All of them are given
before the first answer is read. "file" sends the texts in a file of their own; "descriptors" how many of the three go along.
"""

import json
import os
import socket
import subprocess
import sys

launch, orders = sys.argv[1], json.load(sys.stdin)
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
child = subprocess.Popen([launch], stdin=theirs, env={}, cwd="/")
theirs.close()


def give(order):
    nothing = os.open("/dev/null", os.O_RDONLY)
    out, err = os.pipe(), os.pipe()
    packet = b"".join(text.encode() + b"\0" for text in order["texts"])
    descriptors = [nothing, out[1], err[1]][: order.get("descriptors", 3)]
    if order.get("file"):
        file = os.memfd_create("order")
        os.write(file, packet)
        descriptors.append(file)
        packet = order["texts"][0].encode() + b"\0"
    socket.send_fds(ours, [packet], descriptors)
    for fd in {nothing, out[1], err[1], *descriptors}:
        os.close(fd)
    return {"report": [], "stdout": out[0], "stderr": err[0]}


def slurp(fd):
    with os.fdopen(fd, "rb") as file:
        return file.read().decode()


given = {(order["texts"] or ["0"])[0]: give(order) for order in orders}
open_ids = set(given)
while open_ids:
    line = ours.recv(4096).decode()
    if not line:
        break
    number, what, *rest = line.split()
    given[number]["report"].append(" ".join([what, *rest]))
    if what != "started":
        open_ids.discard(number)
ours.close()
left = child.wait()
for result in given.values():
    streams = {name: slurp(result[name]) for name in ("stdout", "stderr")}
    print(json.dumps({"report": result["report"], **streams, "launchLeft": left}))
