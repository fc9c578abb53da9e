/*
 * Programs (Python) that hold what a memory image cannot, each ready when it has made the file /tmp/ready. All are small.
 */
const READY = `
import time
open("/tmp/ready", "w").close()
time.sleep(1000)
`;

/** Its working directory has a path of more than 4 KiB. */
export const LONG_DIRECTORY = `
import os
for i in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
${READY}`;

/** It has asked the kernel's netlink for a list, and not read the answer. */
export const UNREAD_NETLINK = `
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((0, 0))
s.send(struct.pack("=LHHLL", 17, 18, 0x301, 1, 0) + bytes([0]) + bytes(3)) # RTM_GETLINK, dump
${READY}`;

/** It has three thousand pipes with something in each. */
export const MANY_PIPES = `
import os
pipes = [os.pipe() for _ in range(3000)]
for _, w in pipes: os.write(w, b"x")
${READY}`;

/** It has sent a descriptor over a socket, and the receiving end over another: neither was received. */
export const IN_FLIGHT_TWICE = `
import os, socket, array
def send(s, fd): s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
a, b = socket.socketpair()
c, d = socket.socketpair()
send(a, os.open("/etc/hostname", os.O_RDONLY))
send(c, b.fileno())
b.close()
${READY}`;

/** As \`IN_FLIGHT_TWICE\`, but the program has the receiving end open too. */
export const IN_FLIGHT_ONCE = `
import os, socket, array
def send(s, fd): s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
a, b = socket.socketpair()
send(a, os.open("/etc/hostname", os.O_RDONLY))
${READY}`;

/** A parent and its children share `mib` of memory that it had filled. */
export const children = (mib: number, count: number) => `
import os, time
block = bytearray(os.urandom(1 << 20)) * ${mib}
for i in range(${count}):
    if os.fork() == 0: time.sleep(1000)
${READY}`;

/** The same with daemons: their parent has ended. */
export const daemons = (mib: number, count: number) => `
import os, time
block = bytearray(os.urandom(1 << 20)) * ${mib}
for i in range(${count}):
    if os.fork() == 0: time.sleep(1000)
open("/tmp/ready", "w").close()
os._exit(0)
`;
