import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import type { AgentAddress } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/** Whenever /root/ask exists, writes `all there` to /root/told, or what is missing. */
const PROGRAM = `
import ctypes, os, socket, struct, threading, time
libc = ctypes.CDLL(None)
def udp(to):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(to); return s
near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); near.bind(("127.0.0.1", 5300)); to_near = udp(("127.0.0.1", 5300))
far = udp(("192.0.2.1", 53)); own = lambda: udp(("192.0.2.1", 53)).getsockname()[0]
mapped = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); mapped.connect(("::ffff:192.0.2.1", 53))
server = socket.create_server((own(), 7000))
process = os.open("/proc/%d" % os.getpid(), os.O_RDONLY)
timer = libc.timerfd_create(1, 0); libc.timerfd_settime(timer, 0, struct.pack("qqqq", 0, 1000000, 0, 1000000), None)
time.sleep(0.01) # The timer expires unread, as it does while CRIU works.
def check():
    wrong = []
    to_near.send(b"x"); near.settimeout(5)
    if near.recv(9) != b"x": wrong.append("datagram")
    if far.getsockname()[0] != own(): wrong.append("far is at " + far.getsockname()[0])
    if mapped.getsockname()[0] != "::ffff:" + own(): wrong.append("mapped is at " + mapped.getsockname()[0])
    caller = socket.create_connection((own(), 7000)); server.accept()[0].close(); caller.close()
    if "status" not in os.listdir(process): wrong.append("directory of the process")
    seen = 0
    def read():
        nonlocal seen
        while seen < 5: os.read(timer, 8); seen += 1
    reader = threading.Thread(target=read, daemon=True); reader.start(); reader.join(5)
    if seen < 5: wrong.append("the timer stands still")
    time.sleep(0.01)
    return "; ".join(wrong) or "all there"
while True:
    if os.path.exists("/root/ask"):
        os.unlink("/root/ask")
        try: said = check()
        except Exception as error: said = repr(error)
        open("/root/new", "w").write(said); os.rename("/root/new", "/root/told")
    time.sleep(0.01)
`;

/**
 * What cannot be kept: a program that holds it, reason and text of the refusal, and a command that succeeds once the program holds it (default: once
 * the program has made /root/ready).
 */
const REFUSED: readonly (readonly [what: string, program: string, reason: string, says: RegExp, holds?: string])[] = [
  [
    "a program in memory alone",
    `import os; f = os.memfd_create("e"); os.write(f, open("/bin/sleep", "rb").read()); os.execve(f, ["sleep", "1000"], {})`,
    "program_in_memory",
    /^process \d+ in the sandbox \(.+\) runs a program that is in memory alone/,
    "readlink /proc/[0-9]*/exe | grep -q memfd:",
  ],
  [
    "a POSIX message queue",
    `import ctypes, os, time; l = ctypes.CDLL("librt.so.1"); assert l.mq_open(b"/q", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0; open("/root/ready", "w"); time.sleep(1000)`,
    "checkpoint_refused",
    /^a program in the sandbox has '\/q' open, which is in no file system of the sandbox/,
  ],
  [
    "a watch of a directory in /proc",
    `import ctypes, time; l = ctypes.CDLL(None); f = l.inotify_init1(0); assert l.inotify_add_watch(f, b"/proc", 256) > 0; open("/root/ready", "w"); time.sleep(1000)`,
    "checkpoint_refused",
    /^a program in the sandbox watches \(inotify\) a file that is deleted, or one in \/proc/,
  ],
  [
    "a process that another traces",
    `import ctypes, os, time; l = ctypes.CDLL(None); p = os.fork() or time.sleep(1000); assert l.ptrace(0x4206, p, None, None) == 0; open("/root/ready", "w"); time.sleep(1000)`,
    "checkpoint_refused",
    /^a process in the sandbox is traced by another/,
  ],
];

describe("what processes have open", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  afterEach(() => machine.destroyAll(), 60_000);

  const start = async (address: AgentAddress, program: string) => {
    await initAgent(address);
    await exec(address, `cat > /root/program.py <<'END'\n${program}\nEND`);
    await startUnread(address, "exec python3 /root/program.py 2> /root/errors");
  };
  const told = async (address: AgentAddress) => {
    await exec(address, "rm -f /root/told; touch /root/ask");
    await eventually("the program has answered", async () => (await exec(address, "test -e /root/told")).exitCode === 0).catch(
      async (cause) => {
        throw new Error((await exec(address, "cat /root/errors")).output, { cause });
      },
    );
    return (await exec(address, "cat /root/told")).output;
  };

  test("sockets with the sandbox's own address, timers that repeat and directories of processes are there after a resume and in a copy", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    let handle = await machine.boot(spec);
    await start(await driver.address(handle), PROGRAM);
    expect(await told(await driver.address(handle))).toBe("all there");
    for (const incarnation of [2, 3]) {
      await driver.pause(handle, { memory: true }, never);
      handle = await driver.resume({ ...spec, incarnation }, { memory: true }, never);
      await initAgent(await driver.address(handle));
      expect(await told(await driver.address(handle))).toBe("all there");
    }
    await driver.snapshots.capture(handle, { id: "s", memory: true }, never);
    expect(await told(await driver.address(handle))).toBe("all there");
    const copy = await driver.address(await machine.boot({ ...machine.spec(), from: { snapshot: "s", memory: true } }));
    await initAgent(copy);
    expect(await told(copy)).toBe("all there");
  });

  test.each(REFUSED)(
    "%s prevents the pause of a sandbox: the error names it, and the sandbox runs on",
    async (_what, program, reason, says, holds = "test -e /root/ready") => {
      const { driver } = machine;
      const handle = await machine.boot(machine.spec());
      const address = await driver.address(handle);
      await start(address, program);
      await eventually("the program holds it", async () => (await exec(address, holds)).exitCode === 0);
      const refusal = await driver.pause(handle, { memory: true }, never).catch((error: unknown) => error);
      if (!isAppError(refusal, "failed_precondition")) throw new Error("not refused", { cause: refusal });
      expect(refusal.reason).toBe(reason);
      expect(refusal.message).toMatch(says);
      expect((await driver.inspect(handle)).phase).toBe("running");
      expect((await exec(address, "echo on")).output).toBe("on\n");
      expect(await driver.generation(handle.sandboxId)).toBeUndefined();
    },
  );
});
