import { beforeAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type ApiReply, eventually } from "@boxyard/testkit";
import { keptSandboxes, openDescriptors } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { readFaultsConfig } from "./config.ts";
import { type KernelFault, nameOf, withFault } from "./injector.ts";

/*
 * Each verb of the API while the kernel refuses calls of the server and the driver, or delays them. Every answer comes in
 * time and is one that the contract has; another sandbox runs on, nothing is left of a failed verb, and the same verb works afterwards.
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

const BUILD_FAULTS: readonly KernelFault[] = [error("openat", "EMFILE"), error("fchownat,fchown,lchown", "EIO")];
const MORE_BUILD_FAULTS: readonly KernelFault[] = [
  error("mkdir,mkdirat", "ENOSPC"),
  error("write", "ENOSPC"),
  error("rename,renameat,renameat2", "EROFS"),
  error("ioctl", "EIO"),
  error("pwrite64", "EIO"),
  error("clone,fork,vfork", "EAGAIN"),
  error("mount", "EIO"),
  error("read", "EIO"),
];

interface Subject {
  readonly id: string;
  readonly client: HeldSandbox;
}
type Verb = (subject: Subject) => Promise<number>;
const status = async (reply: Promise<ApiReply>) => (await reply).status;
const post = (path: string, body: object = {}) => status(platform().api({ method: "POST", path, body }));
/** The client does not show the status of a request through the proxy: any error counts as 503. */
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
/** What each verb may answer: a fault of the machine is never a 500, which clients do not send again. 409: the sandbox is in another state, because an earlier verb failed. */
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
    // A fault that no verb meets proves nothing.
    if (FAULTS.includes(fault)) expect(Object.values(answers).filter((status) => status >= 500)).not.toEqual([]);
    expect(await ticks()).toBeGreaterThan(before);
    await clear();
    // Everything works again.
    const again = await createSandbox(platform());
    expect((await again.asRoot("echo fine")).stdout).toBe("fine\n");
    expect(await again.client.pause()).toBe(true);
    await again.client.connect();
    await again.client.kill();
    await clear();
    expect((await fetch(`${platform().apiUrl}/health`)).headers.has("Boxyard-Degraded")).toBe(false);
  }, 240_000);
}

interface Build {
  readonly status: string;
  readonly reason?: { readonly message: string };
}

/** Starts a build of one step that no cache has, and returns a function that gets its status. Undefined when the server refused the build. */
async function beginBuild(name: string): Promise<(() => Promise<Build>) | undefined> {
  const requested = await platform().api({ method: "POST", path: "/v3/templates", body: { name } });
  if (requested.status !== 202) return undefined;
  const { templateID, buildID } = requested.body as { templateID: string; buildID: string };
  const path = `/templates/${templateID}/builds/${buildID}`;
  const steps = [{ type: "RUN", args: [`head -c 3000000 /dev/urandom > /root/noise; echo ${name} > /root/name`, "root"] }];
  const { status } = await platform().api({ method: "POST", path: `/v2${path}`, body: { fromTemplate: "base", steps } });
  if (status !== 202) return undefined;
  return async () => (await platform().api({ path: `${path}/status` })).body as Build;
}

const errnoIn = ({ answer }: KernelFault) => ("error" in answer ? answer.error : "");
const hasEnded = (status: string | undefined) => status === "ready" || status === "error";
const inTheMaking = () => readdirSync(join(platform().dataDir, "pool/making"));

for (const fault of [...BUILD_FAULTS, ...(readFaultsConfig().isDeep ? MORE_BUILD_FAULTS : [])]) {
  test(`a build ends and says why, and nothing of it is left, with ${nameOf(fault)}`, async () => {
    const name = `faults-${crypto.randomUUID().slice(0, 8)}`;
    const look = await withFault(platform().pid, fault, async () => {
      const asked = await beginBuild(name);
      // Where the store takes no changes now, the end is written afterwards.
      await eventually("it ends", async () => !asked || hasEnded((await asked()).status), { withinMs: 10_000 }).catch(() => {});
      return asked;
    });
    let build: Build | undefined;
    const ended = async () => {
      build = await look?.();
      return look === undefined || hasEnded(build?.status);
    };
    await eventually("the build ends", ended, { withinMs: 60_000 });
    if (readFaultsConfig().isDeep) console.log(nameOf(fault), build?.status, build?.reason?.message);
    // The server refuses the request, or the build ends with the call's errno in its reason.
    if (look !== undefined) expect([build?.status, build?.reason?.message]).toEqual(["error", expect.stringContaining(errnoIn(fault))]);
    await eventually("nothing is in the making", () => inTheMaking().length === 0, { withinMs: 30_000 });
    const again = await beginBuild(`${name}-again`);
    await eventually("it can be built", async () => (await again?.())?.status === "ready", { withinMs: 60_000 });
    await Promise.all([name, `${name}-again`].map((of) => platform().api({ method: "DELETE", path: `/templates/${of}` })));
    await clear();
  }, 240_000);
}

test("afterwards the server has no more open than before", async () => {
  await eventually("descriptors are given back", () => openDescriptors(platform().pid) <= descriptors + 10, { withinMs: 30_000 });
}, 40_000);
