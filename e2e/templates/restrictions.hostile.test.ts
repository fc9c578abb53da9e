import { afterAll, expect, test } from "bun:test";
import { Template } from "@boxyard/sdk/template";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const NAME = "restricted";
const OPEN_FILES = 2_048;
const CHILD = "restricted-child";
const server = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
afterAll(async () => {
  for (const name of [CHILD, NAME]) await Template.delete(name, server()).catch(() => {});
});

/** What root and an ordinary user of a sandbox can do with privileges. */
async function tried(template: string): Promise<string[]> {
  await using sandbox = await createSandbox(platform(), {}, template);
  const { stdout } = await sandbox.asRoot(
    "grep -E '^(NoNewPrivs|CapBnd):' /proc/self/status; (sudo -u user sudo -n id -u || echo no sudo) 2>&1 | tail -1; " +
      "setpriv --reuid=1000 --regid=1000 --clear-groups sleep 30 & until [ $(cat /proc/$!/comm) = sleep ]; do :; done; readlink /proc/$!/exe >/dev/null && echo looks || echo blind",
  );
  return stdout.trim().split("\n");
}

/** How many files one process of root's can have open, after it tried to be allowed more. */
async function openable(template: string): Promise<number> {
  await using sandbox = await createSandbox(platform(), {}, template);
  const program = `import os, resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
for more in (hard, hard + 1):
    try: resource.setrlimit(resource.RLIMIT_NOFILE, (more, more))
    except (ValueError, OSError): pass
count = len(os.listdir("/proc/self/fd")) - 1
try:
    while count < 20000: os.open("/", os.O_RDONLY); count += 1
except OSError: pass
print(count)`;
  return Number((await sandbox.asRoot(`python3 -c '${program}'`)).stdout);
}

test("a template's sandboxes do without sudo and without a root that looks into others' processes, and so do those made from it", async () => {
  const [bounding, noNewPrivs, sudo, look] = await tried("base");
  expect([noNewPrivs, sudo, look]).toEqual(["NoNewPrivs:\t0", "0", "looks"]);
  const PTRACE = 1n << 19n;
  expect(BigInt(`0x${bounding?.split("\t")[1]}`) & PTRACE).toBe(PTRACE);

  await Template.fromTemplate("base").restrict({ noNewPrivileges: true, noPtrace: true }).build(NAME, server());
  await Template.fromTemplate(NAME).restrict({ maxOpenFiles: OPEN_FILES }).build(CHILD, server());
  for (const name of [NAME, CHILD]) {
    const [bound, noNew, refused, blind] = await tried(name);
    expect([name, noNew]).toEqual([name, "NoNewPrivs:\t1"]);
    expect(BigInt(`0x${bound?.split("\t")[1]}`) & PTRACE).toBe(0n);
    expect(refused).not.toBe("0");
    expect(blind).toBe("blind");
  }
  // Root of a sandbox can raise no hard limit, and the limit of the template is one.
  expect(await openable("base")).toBeGreaterThan(OPEN_FILES);
  expect(await openable(CHILD)).toBe(OPEN_FILES);
}, 120_000);
