"""Mounts an empty FUSE directory and serves it until killed: just enough of the protocol for stat(2), statfs(2), a chmod that
changes nothing and a watch. With the id of a user after its path it belongs to that user alone: root gets EACCES.

A process that asks for the name `stuck` in it gets no answer and waits in the kernel, where neither a freeze nor most signals reach it; `/run/fuse-stuck` is there while one waits.
"""
import ctypes
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, STATFS, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 4, 17, 26, 36, 42
ENOENT, ENOSYS = 2, 38

fd = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
access = b"user_id=%s" % sys.argv[2].encode() if len(sys.argv) > 2 else b"user_id=0,allow_other"
options = b"fd=%d,rootmode=40000,group_id=0,%s" % (fd, access)
if libc.mount(b"test", sys.argv[1].encode(), b"fuse", 0, options) != 0:
    raise OSError(ctypes.get_errno(), "mount")
if os.fork() > 0:
    os._exit(0)  # Mounted; the rest happens in the background.

attributes = struct.pack("<QIIQQQQQQIIIIIIIIII", 60, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0o40755, 2, 0, 0, 0, 4096, 0)
while True:
    request = os.read(fd, 1 << 20)
    _, opcode, unique = struct.unpack_from("<IIQ", request)
    error, body = -ENOSYS, b""
    if opcode == INIT:
        error, body = 0, struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 1, 0, 0)
    elif opcode in (GETATTR, SETATTR):
        error, body = 0, attributes
    elif opcode == STATFS:
        error, body = 0, struct.pack("<QQQQQIIII24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
    elif opcode == LOOKUP:
        if request[40:].startswith(b"stuck\0"):
            open("/run/fuse-stuck", "w").close()
            continue
        error = -ENOENT
    elif opcode in (FORGET, BATCH_FORGET, INTERRUPT):
        continue
    os.write(fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)
