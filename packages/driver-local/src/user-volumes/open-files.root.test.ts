import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { failure } from "@boxyard/driver/contract-suite";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/** Holds a database, a mapped file, a deleted file and a watch in /data, and writes what it finds when there is a file /root/ask. */
const PROGRAM = `
import ctypes, mmap, os, sqlite3, struct, time
libc = ctypes.CDLL(None)
db = sqlite3.connect("/data/db", isolation_level=None); db.execute("create table if not exists t (x)"); db.execute("insert into t values (1)")
f = open("/data/mapped", "w+b"); f.write(b"m" * 8192); f.flush(); m = mmap.mmap(f.fileno(), 8192)
gone = open("/data/gone", "w+"); gone.write("gone"); gone.flush(); os.unlink("/data/gone")
watch = libc.inotify_init1(0o4000); assert libc.inotify_add_watch(watch, b"/data/watched", 0x100) > 0
open("/root/ready", "w").close()
while True:
    if os.path.exists("/root/ask"):
        os.unlink("/root/ask")
        try:
            db.execute("insert into t values (2)")
            m[0:1] = b"M"; m.flush(); gone.seek(0)
            open("/data/watched/new", "w").close()
            seen = os.read(watch, 4096)[16:].split(b"\\0")[0].decode()
            os.unlink("/data/watched/new")
            said = "%d %s %s %s" % (db.execute("select count(*) from t").fetchone()[0], open("/data/mapped").read(2), gone.read(), seen)
        except Exception as error: said = repr(error)
        open("/root/new", "w").write(said); os.rename("/root/new", "/root/told")
    time.sleep(0.01)
`;

describe("programs with files of a volume open", () => {
  setDefaultTimeout(90_000);
  const machine = useTestMachine();
  afterEach(async () => {
    await machine.destroyAll();
    for (const { id } of await machine.driver.snapshots.list()) await machine.driver.snapshots.remove(id);
    for (const { id } of await machine.driver.volumes.list()) await machine.driver.volumes.remove(id);
  }, 60_000);

  const run = async (handle: SandboxHandle, command: string) => (await exec(await machine.driver.address(handle), command)).output.trim();
  const put = (path: string, text: string) =>
    machine.driver.volumes.content.write("v", path, new Blob([text]).stream(), { signal: never, force: true });
  const init = async (handle: SandboxHandle) => initAgent(await machine.driver.address(handle));
  const begin = async (program: string): Promise<{ spec: SandboxSpec; handle: SandboxHandle }> => {
    await machine.driver.volumes.create("v", { limitBytes: 64 << 20 });
    const spec = { ...machine.spec(), volumes: [{ volume: "v", path: "/data", readOnly: false }] };
    const handle = await machine.boot(spec);
    await init(handle);
    await run(handle, `mkdir /data/watched; cat > /root/program.py <<'END'\n${program}\nEND`);
    await startUnread(await machine.driver.address(handle), "exec python3 /root/program.py 2> /root/errors");
    await eventually("the program is ready", async () => (await run(handle, "ls /root/ready")) === "/root/ready");
    return { spec, handle };
  };
  const ask = async (handle: SandboxHandle) => {
    await run(handle, "rm -f /root/told; touch /root/ask");
    await eventually("the program has answered", async () => (await run(handle, "ls /root/told")) === "/root/told");
    return run(handle, "cat /root/told /root/errors");
  };

  test("a database, a mapped file, a deleted file and a watch go through a pause, a fork and a rollback", async () => {
    const { spec, handle } = await begin(PROGRAM);
    expect(await ask(handle)).toBe("2 Mm gone new");
    await machine.driver.snapshots.capture(handle, { id: "s", memory: true }, never);
    await machine.driver.pause(handle, { memory: true }, never);
    const back = await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    await init(back);
    expect(await ask(back)).toBe("3 Mm gone new");
    const fork = await machine.boot({ ...machine.spec(), volumes: spec.volumes ?? [], from: { snapshot: "s", memory: true } });
    await init(fork);
    expect(await ask(fork)).toBe("4 Mm gone new");
    expect(await ask(back)).toBe("5 Mm gone new");
    await machine.driver.dropGeneration(back);
    await machine.driver.pause(back, { memory: true }, never);
    const rolled = await machine.driver.resume({ ...spec, incarnation: 3, from: { snapshot: "s", memory: true } }, { memory: true }, never);
    await init(rolled);
    // The volume is not set back.
    expect(await ask(rolled)).toBe("6 Mm gone new");
  });

  test("tail -f goes on after a pause in which others changed size and mode of its file", async () => {
    await machine.driver.volumes.create("v", { limitBytes: 64 << 20 });
    await put("log", "one\n");
    const spec = { ...machine.spec(), volumes: [{ volume: "v", path: "/data", readOnly: true }] };
    const handle = await machine.boot(spec);
    await init(handle);
    await startUnread(await machine.driver.address(handle), "exec tail -n +1 -f /data/log > /root/seen 2>&1");
    await eventually("tail has read", async () => (await run(handle, "cat /root/seen")) === "one");
    await machine.driver.pause(handle, { memory: true }, never);
    const other = await machine.boot({ ...machine.spec(), volumes: [{ volume: "v", path: "/x", readOnly: false }] });
    await init(other);
    await run(other, "echo two >> /x/log; chmod 600 /x/log");
    const back = await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    await init(back);
    await run(other, "echo three >> /x/log");
    await eventually("tail has read on", async () => (await run(back, "cat /root/seen")) === "one\ntwo\nthree");
  });

  test("a pause with a renamed file open is refused with a sentence, and the sandbox runs on", async () => {
    const { handle } = await begin(`
import os, time
f = open("/data/old", "w"); f.write("x"); f.flush(); os.rename("/data/old", "/data/new")
g = open("/data/kept", "w"); os.link("/data/kept", "/data/other"); os.unlink("/data/kept")
open("/root/ready", "w").close()
while True: time.sleep(1)
`);
    const refused = machine.driver.pause(handle, { memory: true }, never).catch((error: unknown) => error);
    expect(await refused).toMatchObject({ code: "failed_precondition", reason: "volume_file_renamed" });
    expect(await run(handle, "ls /data")).toBe("new\nother\nwatched");
    expect(await machine.driver.generation(handle.sandboxId)).toBeUndefined();
    expect(await failure(machine.driver.pause(handle, { memory: false }, never))).toBe("resolved");
  });

  for (const kind of ["flock", "lockf"]) {
    test(`a resume and a fork wait for no lock of another sandbox (${kind}), and say who holds it`, async () => {
      const program = (range = "") => `
import fcntl, time
f = open("/data/lock", "w"); fcntl.${kind}(f, fcntl.LOCK_EX${range}); open("/root/ready", "w").close()
while True: time.sleep(1)
`;
      const { spec, handle } = await begin(program());
      await machine.driver.snapshots.capture(handle, { id: "s", memory: true }, never);
      const fork = await machine.driver.create(
        { ...machine.spec(), volumes: spec.volumes ?? [], from: { snapshot: "s", memory: true } },
        never,
      );
      expect(await failure(machine.driver.start(fork, never))).toBe("failed_precondition volume_locked");
      await machine.driver.pause(handle, { memory: true }, never);
      const other = await machine.boot({ ...machine.spec(), volumes: spec.volumes ?? [] });
      await init(other);
      await run(other, `cat > /root/program.py <<'END'\n${program()}\nEND`);
      await startUnread(await machine.driver.address(other), "exec python3 /root/program.py");
      await eventually("the other has the lock", async () => (await run(other, "ls /root/ready")) === "/root/ready");
      const resume = (incarnation: number) => machine.driver.resume({ ...spec, incarnation }, { memory: true }, never);
      expect(await failure(resume(2))).toBe("failed_precondition volume_locked");
      await machine.driver.destroy(other);
      const back = await resume(3);
      await init(back);
      expect(await run(back, "flock -n /data/lock true; grep -c -E 'FLOCK|POSIX' /proc/locks")).toBe("1");
    });
  }

  test("a resume whose file was removed meanwhile fails, and succeeds once it is back", async () => {
    const { spec, handle } = await begin(`
import time
f = open("/data/file", "w"); open("/root/ready", "w").close()
while True: time.sleep(1)
`);
    await machine.driver.pause(handle, { memory: true }, never);
    await machine.driver.volumes.content.remove("v", "file");
    const resume = (incarnation: number) => machine.driver.resume({ ...spec, incarnation }, { memory: true }, never);
    const error = await resume(2).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ reason: "restore_refused", message: expect.stringContaining("/data/file") });
    await put("file", "another size");
    await init(await resume(3));
  });
});
