import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { unmountPool } from "../pool-storage/index.ts";
import { getxattr } from "../sys/libc.ts";
import { countInto, lastCount } from "../testing/counting.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { REAL_PROGRAM } from "../testing/real-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { SET_LOCKS } from "./restore.ts";
import { canSetLocks } from "./set-locks.ts";

const COUNT = "/root/count";

describe("pause and resume", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  afterEach(() => machine.destroyAll(), 60_000);

  test("after a resume, processes go on with their memory, and the disk is unchanged", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    const before = await driver.address(handle);
    await initAgent(before);
    await startUnread(before, countInto(COUNT));
    await eventually("it counts", async () => Number((await exec(before, lastCount(COUNT))).output) > 3);
    await exec(before, "echo kept > /root/file; cat /proc/sys/kernel/random/boot_id");
    const kept = await driver.pause(handle, { memory: true }, never);
    // The agent's own memory at least, and no more than the sandbox may have.
    expect(kept.memoryBytes).toBeGreaterThan(1 << 20);
    expect(kept.memoryBytes).toBeLessThan(256 << 20);
    const image = join(machine.dataDir, "pool/generations", spec.sandboxId, "1/images/pages-1.img");
    expect(Buffer.from(getxattr(image, "btrfs.compression") ?? []).toString()).toBe("zstd");
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    const address = await driver.address(resumed);
    const count = async () => Number((await exec(address, lastCount(COUNT))).output);
    await initAgent(address);
    const first = await count();
    expect(first).toBeGreaterThan(3);
    await eventually("the loop goes on", async () => (await count()) > first);
    expect((await exec(address, "cat /root/file")).output).toBe("kept\n");
    const hosts = (await exec(address, "cat /etc/hosts")).output;
    expect([hosts.includes(`${address.host} test`), hosts.includes(before.host)]).toEqual([true, false]);
  });

  test("connections that are not accepted yet do not prevent a pause; the socket still listens after the resume", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    const before = await driver.address(handle);
    await initAgent(before);
    const program = `
import os, socket, time
server = socket.create_server(("0.0.0.0", 8000))
waiting = socket.create_connection(("127.0.0.1", 8000))
open("/root/ready", "w")
while not os.path.exists("/root/go"): time.sleep(0.02)
while True:
    try: server.accept()[0].sendall(b"accepted")
    except OSError: pass # The pause has closed the connection that waited.
`;
    await startUnread(before, `exec python3 -c '${program}'`);
    await eventually("a connection waits", async () => (await exec(before, "test -e /root/ready")).exitCode === 0);
    await driver.pause(handle, { memory: true }, never);
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    const address = await driver.address(resumed);
    await initAgent(address);
    const { output } = await exec(address, "touch /root/go; timeout 40 bash -c 'head -c 8 < /dev/tcp/127.0.0.1/8000'");
    expect(output).toBe("accepted");
  });

  /** Two processes write to one database until /root/stop exists, and count their rows in a file; a third process (`LOOK`) adds a row and counts all. */
  const WRITER = `
import os, sqlite3, sys, time
db = sqlite3.connect("/root/db", timeout=30)
db.execute("pragma journal_mode=wal")
db.execute("create table if not exists rows (who text, n int)")
n = 0
while not os.path.exists("/root/stop"):
    with db: db.execute("insert into rows values (?, ?)", (sys.argv[1], n))
    n += 1
    open("/root/" + sys.argv[1], "w").write(str(n))
    time.sleep(0.01)
print(n)
db.close()
`;
  const LOOK = `python3 -c '
import sqlite3
db = sqlite3.connect("/root/db", timeout=30)
with db: db.execute("insert into rows values (?, ?)", ("look", 0))
print(db.execute("pragma integrity_check").fetchone()[0], db.execute("select count(*) from rows").fetchone()[0])
'`;
  const outputOf = async (address: AgentAddress, command: string) => (await exec(address, command)).output.trim();
  const written = async (address: AgentAddress) =>
    (await outputOf(address, "cat /root/one; echo; cat /root/two")).split("\n").map(Number) as [number, number];
  const startWriters = async (address: AgentAddress) => {
    await initAgent(address);
    await exec(address, `cat > /root/writer.py <<'END'\n${WRITER}\nEND`);
    // One after the other: when two change the journal's mode at the same moment, SQLite refuses one at once, whatever its timeout is.
    for (const who of ["one", "two"]) {
      await startUnread(address, `exec python3 /root/writer.py ${who} >/root/${who}.end 2>&1`);
      await eventually(`${who} writes`, async () => Number(await outputOf(address, `cat /root/${who}`)) > 3);
    }
  };

  test.if(canSetLocks)(
    "the locks of a mapped file hold: a database in WAL mode that processes have open is opened by another",
    async () => {
      const { driver } = machine;
      const spec = machine.spec();
      let handle = await machine.boot(spec);
      await startWriters(await driver.address(handle));
      for (const incarnation of [2, 3]) {
        await driver.pause(handle, { memory: true }, never);
        handle = await driver.resume({ ...spec, incarnation }, { memory: true }, never);
        const address = await driver.address(handle);
        await initAgent(address);
        expect(await outputOf(address, LOOK)).toStartWith("ok ");
        const [one, two] = await written(address);
        await eventually("both write on", async () => (await written(address)).every((n, i) => n > ([one, two][i] ?? 0)));
      }
      const address = await driver.address(handle);
      await exec(address, "touch /root/stop");
      await eventually("both end", async () => /^\d+ \d+$/.test(await outputOf(address, "echo $(cat /root/one.end /root/two.end)")));
      const [one = 0, two = 0] = (await outputOf(address, "cat /root/one.end /root/two.end")).split("\n").map(Number);
      // No row is lost: those of the two writers, and three of `LOOK`.
      expect(await outputOf(address, LOOK)).toBe(`ok ${one + two + 3}`);
    },
  );

  test.if(canSetLocks)("locks that cannot be set again make a resume fail, and it can be tried again", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    await startWriters(await driver.address(handle));
    await driver.pause(handle, { memory: true }, never);
    machine.faults.before = (step) => {
      if (step === SET_LOCKS) throw new Error("injected");
    };
    const attempt = (incarnation: number) => driver.resume({ ...spec, incarnation }, { memory: true }, never);
    expect(String(await attempt(2).catch((e: unknown) => e))).toContain("injected");
    machine.faults.before = () => {};
    expect((await driver.inspect(handle)).phase).toBe("paused");
    const address = await driver.address(await attempt(3));
    await initAgent(address);
    expect(await outputOf(address, LOOK)).toStartWith("ok ");
  });

  test("a sandbox that was paused without memory boots from its disk", async () => {
    const { driver } = machine;
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    await initAgent(await driver.address(handle));
    await startUnread(await driver.address(handle), "exec sleep 1000");
    await exec(await driver.address(handle), "echo kept > /root/file");
    expect((await driver.pause(handle, { memory: false }, never)).memoryBytes).toBe(0);
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    const address = await driver.address(resumed);
    await initAgent(address);
    const { output } = await exec(
      address,
      `cat /root/file; cat /proc/[0-9]*/comm | grep -c sleep; grep -c '${address.host} test' /etc/hosts`,
    );
    expect(output).toBe("kept\n0\n1\n");
  });

  test("a paused sandbox goes on after a reboot of the machine", async () => {
    const spec = machine.spec();
    const handle = await machine.boot(spec);
    const before = await machine.driver.address(handle);
    await initAgent(before);
    await startUnread(before, countInto(COUNT));
    await eventually("it counts", async () => Number((await exec(before, lastCount(COUNT))).output) > 3);
    await machine.driver.pause(handle, { memory: true }, never);
    // As after a reboot: no process, no mount, and the processes in the state file belong to another boot.
    await machine.close();
    await unmountPool(machine.dataDir);
    const state = join(machine.dataDir, "sandboxes", spec.sandboxId, "state.json");
    const marker = () => join(machine.dataDir, "pool/generations", spec.sandboxId, "1/generation.json");
    const ofAnotherBoot = (path: string) => writeFileSync(path, readFileSync(path, "utf8").replace(/"bootId":"[^"]*"/, '"bootId":"other"'));
    ofAnotherBoot(state);
    await machine.reopen();
    ofAnotherBoot(marker());
    expect((await machine.driver.recover(handle)).phase).toBe("paused");
    const resumed = await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    const address = await machine.driver.address(resumed);
    await initAgent(address);
    const count = async () => Number((await exec(address, lastCount(COUNT))).output);
    const seen = await count();
    await eventually("it goes on", async () => (await count()) > seen);
  });

  test("what real programs have open, lock and share works after each of ten resumes", async () => {
    const { driver } = machine;
    const spec = machine.spec({ memoryBytes: 512 << 20, maxProcesses: 512 });
    let handle = await machine.boot(spec);
    await initAgent(await driver.address(handle));
    const address = () => driver.address(handle);
    await exec(await address(), `cat > /root/real.py <<'END'\n${REAL_PROGRAM}\nEND`);
    await startUnread(await address(), "exec python3 /root/real.py 2> /root/errors");
    const told = async () => (await exec(await address(), "cat /root/told /root/errors")).output;
    await eventually("it is ready", async () => (await told()).startsWith("1 all there")).catch(async (e) => {
      throw new Error(await told(), { cause: e });
    });
    for (let round = 2; round <= 11; round++) {
      await driver.pause(handle, { memory: true }, never);
      handle = await driver.resume({ ...spec, incarnation: round }, { memory: true }, never);
      await initAgent(await address());
      await driver.dropGeneration(handle);
      await exec(await address(), "touch /root/again");
      await eventually(`round ${round}`, async () => (await told()) === `${round} all there\n`).catch(async (cause) => {
        throw new Error(await told(), { cause });
      });
    }
    expect((await exec(await address(), "ls -a /root | grep -c link_remap")).output).toBe("0\n");
  }, 120_000);
});
