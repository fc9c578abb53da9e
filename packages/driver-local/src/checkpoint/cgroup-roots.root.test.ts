import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import { exec, initAgent } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

setDefaultTimeout(60_000);
const machine = useTestMachine();
afterEach(() => machine.destroyAll(), 60_000);

/** Where the hierarchies of cgroups are mounted, v1 and v2. */
const hierarchies = readFileSync("/proc/self/mounts", "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, path = "", type] = line.split(" ");
    return type === "cgroup" || type === "cgroup2" ? [path] : [];
  });

test("images hold no cgroups of other programs, and a resume does not need them", async () => {
  const foreign = `foreign-${crypto.randomUUID()}`;
  const made = hierarchies.map((path) => join(path, foreign));
  const spec = machine.spec();
  for (const path of made) mkdirSync(path);
  try {
    await machine.driver.pause(await machine.boot(spec), { memory: true }, never);
  } finally {
    for (const path of made) rmdirSync(path);
  }
  const image = readFileSync(join(machine.dataDir, "pool/generations", spec.sandboxId, "1/images/cgroup.img"), "latin1");
  expect([image.includes(foreign), image.includes(spec.sandboxId)]).toEqual([false, true]);
  const handle = await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
  const address = await machine.driver.address(handle);
  await initAgent(address);
  expect((await exec(address, "echo it works")).output).toBe("it works\n");
  // The processes are in their own cgroups again.
  const groups = readFileSync(`/proc/${machine.agentPid(handle)}/cgroup`, "utf8");
  expect(groups.split("\n").filter((line) => line.includes(spec.sandboxId)).length).toBeGreaterThan(0);
  expect((await machine.driver.stats(handle)).memoryUsedBytes).toBeGreaterThan(0);
});
