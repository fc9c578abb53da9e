import type { Ended, HeldSandbox } from "../../support/sandbox.ts";

/** Puts a Python program into the sandbox and runs it. */
export async function python(sandbox: HeldSandbox, program: string, user: "root" | "user" = "root"): Promise<Ended> {
  await sandbox.client.files.write("/tmp/attempt.py", program);
  return sandbox.asRoot("python3 /tmp/attempt.py", { user });
}

/** `call(name, …)` makes a raw system call and gives its errno, 0 for success. Numbers of x86-64 and of the newer table that arm64 uses. */
export const SYSCALLS = `
import ctypes, errno, os, platform, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
NUMBERS = {"unshare": (272, 97), "clone3": (435, 435), "bpf": (321, 280), "io_uring_setup": (425, 425), "perf_event_open": (298, 241),
  "userfaultfd": (323, 282), "add_key": (248, 217), "keyctl": (250, 219), "request_key": (249, 218), "init_module": (175, 105),
  "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "open_by_handle_at": (304, 265), "setns": (308, 268),
  "pivot_root": (155, 41), "swapon": (167, 224), "settimeofday": (164, 170), "clock_settime": (227, 112), "reboot": (169, 142), "acct": (163, 89),
  "quotactl": (179, 60), "syslog": (103, 116), "fsopen": (430, 430), "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442)}
def call(name, *arguments):
    ctypes.set_errno(0)
    number = NUMBERS[name][0 if x86 else 1]
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments])
    return 0 if result >= 0 else ctypes.get_errno()
`;
