import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import { readInstance } from "../setup/index.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/* A sandbox that has nearly reached its memory limit: the memory that CRIU needs while it works is not charged to the sandbox. */

setDefaultTimeout(120_000);
const MIB = 2 ** 20;
const LIMIT = 192 * MIB;
/** Less than any process needs to start, far less than CRIU takes. */
const LEFT = 4 * MIB;

/** Takes 1 MiB of memory at each SIGUSR1; at SIGUSR2 it says whether the content is unchanged, and frees all of it. */
const HOLDER = `
import hashlib, os, signal, time
held = []; digest = hashlib.sha256()
def take(*_):
    piece = os.urandom(1 << 20); held.append(piece); digest.update(piece)
def tell(*_):
    again = hashlib.sha256()
    for piece in held: again.update(piece)
    is_same = again.hexdigest() == digest.hexdigest(); held.clear()
    open("/root/new", "w").write("same" if is_same else "other"); os.rename("/root/new", "/root/told")
signal.signal(signal.SIGUSR1, take); signal.signal(signal.SIGUSR2, tell)
open("/root/ready", "w").write("x")
while True: time.sleep(1000)
`;

const machine = useTestMachine();

/** Pid of the holder in the machine's process namespace. */
function holderOf({ sandboxId }: SandboxHandle): number {
  const user = join(findHierarchies().unified, `boxyard-${readInstance(machine.dataDir)?.instance}`, sandboxId, "user");
  const pids = readdirSync(user, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) =>
      readFileSync(join(user, name, "cgroup.procs"), "utf8")
        .split("\n")
        .filter(Boolean)
        .map(Number),
    );
  const [pid] = pids.filter((one) => readFileSync(`/proc/${one}/comm`, "utf8") === "python3\n");
  if (pid === undefined) throw new Error("the holder is gone");
  return pid;
}

test("a sandbox at its memory limit is paused and resumed, and none of its processes is killed for lack of memory", async () => {
  const { driver } = machine;
  const spec = machine.spec({ memoryBytes: LIMIT });
  let handle = await machine.boot(spec);
  await initAgent(await driver.address(handle));
  await exec(await driver.address(handle), `cat > /root/holder.py <<'END'\n${HOLDER}\nEND`);
  await startUnread(await driver.address(handle), "exec python3 /root/holder.py");
  await eventually("it is ready", async () => (await exec(await driver.address(handle), "cat /root/ready")).output === "x");
  const left = async () => LIMIT - (await driver.stats(handle)).memoryUsedBytes;
  await eventually(
    "little is left",
    async () => {
      const isLittle = (await left()) < LEFT;
      if (!isLittle) process.kill(holderOf(handle), "SIGUSR1");
      return isLittle;
    },
    { withinMs: 60_000 },
  );
  for (let incarnation = 2; incarnation < 5; incarnation++) {
    await driver.pause(handle, { memory: true }, never);
    handle = await driver.resume({ ...spec, incarnation }, { memory: true }, never);
    await initAgent(await driver.address(handle));
    await driver.dropGeneration(handle);
    // It comes while the sandbox runs already.
    await eventually("its memory is there again", async () => (await left()) < 2 * LEFT, { withinMs: 60_000 });
    expect((await driver.stats(handle)).oomKills).toBe(0);
  }
  process.kill(holderOf(handle), "SIGUSR2");
  await eventually("its memory is freed", async () => (await left()) > LIMIT / 2);
  // It reports this only after it has freed the memory.
  const told = async () => (await exec(await driver.address(handle), "cat /root/told")).output;
  await eventually("it says whether its memory is unchanged", async () => ["same", "other"].includes(await told()));
  expect(await told()).toBe("same");
});
