import { expect, setDefaultTimeout, test } from "bun:test";
import type { SandboxHandle } from "@boxyard/driver";
import { makeTar } from "@boxyard/driver/fake";
import { exec, initAgent } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/* Device and inode numbers that a program in a sandbox sees: no two directories of one tree may have the same pair. */

setDefaultTimeout(60_000);
const machine = useTestMachine();

async function run(handle: SandboxHandle, command: string): Promise<string> {
  const { output, exitCode } = await exec(await machine.driver.address(handle), command);
  if (exitCode !== 0) throw new Error(`${command}: ${exitCode} ${output}`);
  return output;
}

async function boot(layers: readonly string[]): Promise<SandboxHandle> {
  const handle = await machine.boot({ ...machine.spec(), image: { digest: `sha256:${"1".repeat(64)}`, layers } });
  await initAgent(await machine.driver.address(handle));
  return handle;
}

/** Makes directories below every directory of the template, so that `find` reports a loop when one of them has the number of a parent. */
const FILL = (name: string) =>
  `find / -xdev -maxdepth 2 -type d ! -path '/${name}*' >/tmp/list; mkdir -p /opt/${name}; seq 600 | (cd /opt/${name} && xargs mkdir)
   while read -r directory; do mkdir -p "$directory/${name}/a/b" 2>/dev/null; done </tmp/list; rm /tmp/list`;

async function expectDistinctDirectories(handle: SandboxHandle): Promise<void> {
  const directories = Number(await run(handle, "find / -xdev -type d 2>/dev/null | wc -l"));
  expect(directories).toBeGreaterThan(1000);
  expect(await run(handle, "find / -xdev -type d -printf '%D %i\\n' 2>/dev/null | sort | uniq -d")).toBe("");
  expect(await run(handle, "find / -xdev 2>&1 >/dev/null | grep -i loop || true")).toBe("");
}

/** A sandbox's own directories on top of `layers`, and the layer that they become. */
async function step(layers: readonly string[], name: string): Promise<string[]> {
  const handle = await boot(layers);
  try {
    await run(handle, FILL(name));
    await expectDistinctDirectories(handle);
    await machine.driver.freeze(handle);
    const { digest } = await machine.driver.images.commit(handle, { signal: never });
    return [...layers, digest];
  } finally {
    await machine.driver.destroy(handle);
  }
}

test("no two directories have one number: over a template, over a step of a build, and over a merge of steps", async () => {
  const base = machine.spec().image.layers;
  const one = await step(base, "one");
  const two = await step(one, "two");
  const merged = await machine.driver.images.mergeLayers(two.slice(base.length), { signal: never });
  const three = await step([...base, merged.digest], "three");
  for (const layer of new Set([...two, ...three].filter((digest) => !base.includes(digest)))) {
    await machine.driver.images.removeLayer(layer);
  }
});

test("the layers of an imported image have distinct numbers too", async () => {
  const base = machine.spec().image.layers;
  const directories = (name: string) => Array.from({ length: 600 }, (_, i) => ({ path: `srv/${name}/${i}/`, type: "directory" as const }));
  const layers = [...base];
  for (const name of ["lower", "upper"]) {
    const tar = makeTar(directories(name)) as Uint8Array<ArrayBuffer>;
    const { digest } = await machine.driver.images.importLayer(new Blob([tar]).stream(), { signal: never, above: layers });
    layers.push(digest);
  }
  const all = await step(layers, "own");
  for (const layer of all.slice(base.length)) await machine.driver.images.removeLayer(layer);
});
