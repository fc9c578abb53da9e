import { beforeAll, expect, test } from "bun:test";
import { type ApiReply, eventually } from "@boxyard/testkit";
import { keptSandboxes, openDescriptors } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { readFaultsConfig } from "./config.ts";
import { type KernelFault, nameOf, withFault } from "./injector.ts";

/*
 * Each verb of the API while the kernel refuses calls of the server and the driver, or does not answer them for a while. Whatever the answer is: it comes in
 * time, it is one of those that the contract has, another sandbox runs on, nothing is left of what failed, and the same works afterwards.
 */

const platform = usePlatform({ own: true });
const LIMIT_MS = 25_000;

const error = (calls: string, name: string): KernelFault => ({ calls, answer: { error: name } });
/** The second half only with BOXYARD_CHAOS_SECONDS. */
const FAULTS: readonly KernelFault[] = [
  error("mkdir,mkdirat", "ENOSPC"),
  error("rename,renameat,renameat2", "EROFS"),
  error("pwrite64", "EIO"),
  error("socket", "EMFILE"),
  error("openat", "EMFILE"),
];
const MORE: readonly KernelFault[] = [
  error("mkdir,mkdirat", "EROFS"),
  error("rename,renameat,renameat2", "EIO"),
  error("pwrite64", "ENOSPC"),
  error("fdatasync,fsync", "EIO"),
  error("mount", "EIO"),
  error("ioctl", "EIO"),
  { calls: "mkdir,mkdirat", answer: { delayMs: 500 } },
  { calls: "rename,renameat,renameat2", answer: { delayMs: 500 } },
];

interface Subject {
  readonly id: string;
  readonly client: HeldSandbox;
}
type Verb = (subject: Subject) => Promise<number>;
const status = async (reply: Promise<ApiReply>) => (await reply).status;
const post = (path: string, body: object = {}) => status(platform().api({ method: "POST", path, body }));
/** Of what goes through the proxy the client tells no status: an error is 503 here. */
const through = (work: Promise<unknown>) => work.then(() => 200).catch(() => 503);

const VERBS: Readonly<Record<string, Verb>> = {
  create: () => post("/v2/sandboxes", { templateID: "base" }),
  command: ({ client }) => through(client.asRoot("true")),
  upload: ({ client }) => through(client.client.files.write("/tmp/file", "x".repeat(1 << 20))),
  timeout: ({ id }) => post(`/sandboxes/${id}/timeout`, { timeout: 600 }),
  pause: ({ id }) => post(`/sandboxes/${id}/pause`),
  resume: ({ id }) => post(`/v2/sandboxes/${id}/connect`, { timeout: 600 }),
  kill: ({ id }) => status(platform().api({ method: "DELETE", path: `/sandboxes/${id}` })),
};
/** What each verb may answer: a fault of the machine's is never a 500, which clients do not send again. 409: it is in another state, since an earlier verb failed. */
const ALLOWED = new Set([200, 201, 204, 409, 503, 504]);

let bystander: HeldSandbox;
const ticks = async () => Number((await bystander.asRoot("cat /tmp/ticks")).stdout);
let descriptors = 0;
beforeAll(async () => {
  bystander = await createSandbox(platform(), { timeoutMs: 1_200_000 });
  const loop = "i=0; while :; do i=$((i+1)); echo $i > /tmp/ticks.new; mv /tmp/ticks.new /tmp/ticks; sleep 0.05; done";
  const command = await bystander.client.commands.run(loop, { background: true, timeoutMs: 0 });
  await command.disconnect();
  await eventually("it ticks", async () => (await ticks()) > 0);
  descriptors = openDescriptors(platform().pid);
}, 60_000);

const listed = async () =>
  ((await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);

/** Everything but the bystander is gone, from the list and from the machine. */
async function clear(): Promise<void> {
  await eventually(
    "nothing is left but the bystander",
    async () => {
      const all = new Set([...(await listed()), ...keptSandboxes(platform())]);
      all.delete(bystander.id);
      for (const id of all) await platform().api({ method: "DELETE", path: `/sandboxes/${id}` });
      return all.size === 0;
    },
    { withinMs: 40_000 },
  );
}

for (const fault of [...FAULTS, ...(readFaultsConfig().isDeep ? MORE : [])]) {
  test(`each verb is answered, and nothing is lost, with ${nameOf(fault)}`, async () => {
    const client = await createSandbox(platform(), { timeoutMs: 600_000 });
    const before = await ticks();
    const answers: Record<string, number> = {};
    for (const [name, verb] of Object.entries(VERBS)) {
      const answer = await withFault(platform().pid, fault, () =>
        Promise.race([verb({ id: client.id, client }), Bun.sleep(LIMIT_MS).then(() => -1)]),
      );
      answers[name] = answer;
      expect([name, ALLOWED.has(answer) || answer]).toEqual([name, true]);
    }
    if (readFaultsConfig().isDeep) console.log(nameOf(fault), JSON.stringify(answers));
    expect(await ticks()).toBeGreaterThan(before);
    await clear();
    // All is well again.
    const again = await createSandbox(platform());
    expect((await again.asRoot("echo fine")).stdout).toBe("fine\n");
    expect(await again.client.pause()).toBe(true);
    await again.client.connect();
    await again.client.kill();
    await clear();
    expect((await fetch(`${platform().apiUrl}/health`)).headers.has("Boxyard-Degraded")).toBe(false);
  }, 240_000);
}

test("afterwards the server has no more open than before", async () => {
  await eventually("descriptors are given back", () => openDescriptors(platform().pid) <= descriptors + 10, { withinMs: 30_000 });
}, 40_000);
