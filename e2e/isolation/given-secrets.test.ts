import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { Secrets } from "@boxyard/sdk/secrets";
import { Template } from "@boxyard/sdk/template";
import { holders } from "../support/holders.ts";
import { usePlatform } from "../support/platform.ts";

/* Values of a team's secrets are planted, used in a build and in a sandbox, and then looked for everywhere. */

const platform = usePlatform();
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const unique = () => crypto.randomUUID().replaceAll("-", "");
const PLANTED = { build: `planted${unique()}`, sandbox: `planted${unique()}` };
const name = `given-${unique().slice(0, 8)}`;
const directory = await mkdtemp(join(tmpdir(), "boxyard-given-"));
await writeFile(join(directory, "begun"), "");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const sha = (text: string) => `${new Bun.CryptoHasher("sha256").update(text).digest("hex")}  -\n`;
const found = async (path = platform().dataDir) => (await holders(path, Object.values(PLANTED), join(directory, "begun"))).sort();
const api = async (path: string) => (await fetch(platform().apiUrl + path, { headers: { "X-API-Key": platform().apiKey } })).text();

/** Processes of this machine, and not of a sandbox, whose command line or environment has a planted text. */
function processesWith(): string[] {
  const own = readlinkSync("/proc/self/ns/pid");
  const texts = Object.values(PLANTED);
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return [];
    try {
      if (readlinkSync(`/proc/${pid}/ns/pid`) !== own) return [];
      const shown = ["cmdline", "environ"].map((file) => readFileSync(`/proc/${pid}/${file}`, "utf8")).join();
      return texts.some((text) => shown.includes(text)) ? [pid] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

test("a build has a stored secret where it asks for it, and nothing of the machine has it afterwards", async () => {
  await Secrets.create(`${name}-build`, PLANTED.build, options());
  const log: string[] = [];
  const template = Template.fromBaseImage().run('printf %s "$T" | sha256sum > /sum; echo "seen $T"; : ' + name, {
    user: "root",
    secrets: [{ id: "token", env: "T", required: true }],
  });
  await template.build(name, {
    ...options(),
    secrets: { token: { stored: `${name}-build` } },
    onLog: ({ message }) => void log.push(message),
  });
  {
    await using sandbox = await Sandbox.create(name, options());
    expect((await sandbox.commands.run("cat /sum; env | grep -c planted || true")).stdout).toBe(`${sha(PLANTED.build)}0\n`);
  }
  expect([log.join("\n").includes("seen ***"), log.join("\n").includes(PLANTED.build)]).toEqual([true, false]);
  expect(await found()).toEqual([]);
  await Template.delete(name, options());
}, 120_000);

test("a sandbox has a secret as its environment; its own memory images have it, and nothing else of the machine", async () => {
  await Secrets.create(`${name}-sandbox`, PLANTED.sandbox, options());
  await using sandbox = await Sandbox.create({ ...options(), envSecrets: { TOKEN: `${name}-sandbox` } });
  expect((await sandbox.commands.run('printf %s "$TOKEN" | sha256sum')).stdout).toBe(sha(PLANTED.sandbox));
  await sandbox.commands.run("exec sleep 1000", { background: true });
  await using neighbour = await Sandbox.create(options());
  expect((await neighbour.commands.run('echo "[$TOKEN]"')).stdout).toBe("[]\n");
  expect(processesWith()).toEqual([]);
  expect(await found()).toEqual([]);

  const { snapshotId } = await sandbox.createSnapshot();
  await sandbox.pause();
  // The neighbour's image too, which must not have it.
  await neighbour.pause();
  const images = await found();
  const { dataDir } = platform();
  const places = images.map((path) => path.slice(dataDir.length + 1));
  expect(places.filter((path) => !path.startsWith("pool/"))).toEqual([]);
  expect(places.some((path) => path.includes(sandbox.sandboxId))).toBe(true);
  expect(places.filter((path) => path.includes(neighbour.sandboxId))).toEqual([]);

  const resumed = await Sandbox.connect(sandbox.sandboxId, options());
  expect((await resumed.commands.run('printf %s "$TOKEN" | sha256sum')).stdout).toBe(sha(PLANTED.sandbox));
  const shown = [`/sandboxes/${sandbox.sandboxId}`, "/events?limit=100", `/v2/sandboxes/${sandbox.sandboxId}/logs`, "/secrets", "/metrics"];
  for (const path of shown) expect([path, (await api(path)).includes(PLANTED.sandbox)]).toEqual([path, false]);
  await Sandbox.deleteSnapshot(snapshotId, options());
  await sandbox.kill();
  expect(await found()).toEqual([]);
}, 180_000);
