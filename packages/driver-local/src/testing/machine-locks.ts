import { expect, test } from "bun:test";
import type { ExecResult } from "./exec.ts";

/**
 * A Python program that tries every option of a socket for which the kernel takes the network lock of the whole machine, and prints what each came to.
 * The requests are for 224.0.0.251 and ff02::fb on the loopback link.
 */
export const JOIN_GROUPS = `
import errno, socket, struct
group, lo = socket.inet_aton("224.0.0.251"), socket.inet_aton("127.0.0.1")
group6 = socket.inet_pton(socket.AF_INET6, "ff02::fb"); one = struct.pack("I", 1)
address = struct.pack("HH", 2, 0) + group + bytes(120); request = struct.pack("I4x", 1) + address
udp, udp6 = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
def attempt(s, level, options, value):
    for option in options:
        try: s.setsockopt(level, option, value); print("done", level, option)
        except OSError as error: print(errno.errorcode[error.errno], level, option)
attempt(udp, 0, [35, 36], group + lo); attempt(udp, 0, [37, 38, 39, 40, 41], group + lo + lo)
attempt(udp, 0, range(42, 49), request + address); attempt(udp, 0, range(200, 213), one)
attempt(udp6, 41, [20, 21, 27, 28], group6 + one); attempt(udp6, 41, [*range(42, 49), 1, 22, *range(200, 211)], request + address)
attempt(socket.socket(socket.AF_PACKET, socket.SOCK_RAW), 263, [1, 2], struct.pack("iHH8x", 1, 1, 0))
udp.setsockopt(0, 33, 1); udp.setsockopt(0, 34, 1); udp.setsockopt(0, 32, lo); print("sends")
`;

/**
 * A Python program that tries to move itself between processors, and to set breakpoints of the processor in a child that it traces. Then it prints
 * whether the child goes on and ends by itself, as a debugger needs.
 */
export const MOVE_AND_BREAK = `
import ctypes, errno, os, signal
libc = ctypes.CDLL(None, use_errno=True); libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
before = os.sched_getaffinity(0); os.sched_setaffinity(0, {min(before)})
print("processors", "kept" if os.sched_getaffinity(0) == before else "changed")
def trace(request, address=0, data=0):
    ctypes.set_errno(0); result = libc.ptrace(request, child, address, data)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "done"
child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGSTOP); os._exit(7)
os.waitpid(child, 0)
print("registers", *{trace(6, 848 + 8 * register) for register in range(8)})
print("sets", *{trace(0x4205, kind) for kind in (0x402, 0x403)})
print("goes on", trace(7)); print("exit code", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
`;

/** Lines of `JOIN_GROUPS` that are no refusal: `sends` alone in a sandbox. runc has one answer for what no rule names. */
export const notRefused = (lines: readonly string[]): string[] => lines.filter((line) => !/^(ENOPROTOOPT|ENOSYS) /.test(line));
/** How many lines there are. */
export const JOINS = 54;
/** What `MOVE_AND_BREAK` prints in a sandbox. */
export const MOVE_AND_BREAK_ANSWER = "processors kept\nregisters ENOSPC\nsets ENOSPC\ngoes on done\nexit code 7\n";

/** `inside` runs a shell command in the sandbox. */
export function machineLockTests(inside: (command: string) => Promise<ExecResult>): void {
  test("takes no lock of the whole machine's network, moves between no processors, and sets no breakpoint of one", async () => {
    const lines = (await inside(`python3 -c '${JOIN_GROUPS}'`)).output.trim().split("\n");
    expect(lines).toHaveLength(JOINS);
    expect(notRefused(lines)).toEqual(["sends"]);
    expect(lines).toContain("ENOPROTOOPT 0 35");
    const { output } = await inside(`python3 -c '${MOVE_AND_BREAK}'`);
    expect(output).toBe(MOVE_AND_BREAK_ANSWER);
  });
}
