import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { Template } from "@boxyard/sdk/template";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { usePlatform } from "../support/platform.ts";
import { pushTinyImage } from "../support/tiny-image.ts";

/* A template goes out and comes back, by the ways that users have: the command line and the SDK, a real registry, and files. */

const LOGIN = { username: "tester", password: "a word that nobody keeps" };
// First, since what is registered first runs first: the platform must still be there.
afterAll(async () => {
  for (const part of ["made", "pulled", "copy", "sdk"]) await Template.delete(name(part), target());
}, 30_000);
const platform = usePlatform();
const stamp = crypto.randomUUID().slice(0, 8);
const name = (part: string) => `round-${part}-${stamp}`;
const directory = mkdtempSync(join(tmpdir(), "boxyard-round-"));
const archive = join(directory, "image.tar");
let registry: TestRegistry;
let original: string;

const target = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

const CLI = join(CHECKOUT, "packages/cli/src/main.ts");
const userEnv = () => ({ ...platform().env, BOXYARD_API_URL: target().apiUrl, BOXYARD_API_KEY: target().apiKey, BOXYARD_DATA: directory });

async function boxyard(args: readonly string[], stdin = "") {
  const ended = await runProgram([process.execPath, CLI, "template", ...args], { env: userEnv(), stdin, limitMs: 100_000 });
  return { ...ended, stdout: ended.stdout.trim() };
}

/** Everything below /srv, as the sandbox itself sees it: kind, mode, owner, number of names, content or target. */
const LISTING = `cd /srv && find . | sort | while read -r f; do stat -c '%A %u:%g %h %n' "$f"; if [ -L "$f" ]; then readlink "$f"; elif [ -f "$f" ]; then sha256sum < "$f"; fi; done; cat /home/user/started`;

async function listing(template: string): Promise<string> {
  const sandbox = await Sandbox.create(template, { ...target(), timeoutMs: 60_000 });
  try {
    return (await sandbox.commands.run(LISTING, { user: "root" })).stdout;
  } finally {
    await sandbox.kill();
  }
}

function addFiles(tree: string): void {
  mkdirSync(join(tree, "srv/dir"), { recursive: true });
  writeFileSync(join(tree, "srv/gone"), "below");
  writeFileSync(join(tree, "srv/dir/kept"), "kept");
  linkSync(join(tree, "srv/dir/kept"), join(tree, "srv/linked"));
  symlinkSync("dir/kept", join(tree, "srv/soft"));
  chmodSync(join(tree, "srv/dir"), 0o1777);
}

beforeAll(async () => {
  registry = await startRegistry({ login: LOGIN });
  await pushTinyImage("tiny", { Env: ["PATH=/bin"] }, { host: registry.host, login: LOGIN, addFiles });
  const access = { type: "registry", ...LOGIN } as const;
  await Template.fromImage(`${registry.host}/tiny`, { registry: access })
    .env({ GREETING: "hello" })
    .run("rm /srv/gone && echo new > /srv/new && chmod 4750 /srv/new && mkdir /srv/empty && mkfifo /srv/pipe && chown 12:34 /srv/pipe", {
      user: "root",
    })
    .setStartCmd('echo "$GREETING from $(id -un)" > /home/user/started; sleep 1000', "test -s /home/user/started")
    .build(name("made"), target());
  original = await listing(name("made"));
}, 120_000);
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

test("what goes out is more than nothing", () => {
  expect(original).toContain("hello from user");
  expect(original).toContain("-rwsr-x--- 0:0 1 ./new");
  expect(original).toContain("2 ./linked");
  expect(original).not.toContain("gone");
});

test("pushed by the command line and pulled as an image, it has the same files", async () => {
  const reference = `${registry.host}/team/app:v1`;
  const pushed = await boxyard(["push", name("made"), reference, "--username", LOGIN.username, "--password-stdin"], `${LOGIN.password}\n`);
  expect([pushed.exitCode, pushed.stdout]).toEqual([0, expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
  // By digest, so it is what was said to be pushed.
  await Template.fromImage(`${registry.host}/team/app@${pushed.stdout}`, { registry: { type: "registry", ...LOGIN } })
    .setStartCmd('echo "$GREETING from $(id -un)" > /home/user/started; sleep 1000', "test -s /home/user/started")
    .build(name("pulled"), target());
  expect(await listing(name("pulled"))).toBe(original);
  const refused = await boxyard(["push", name("made"), reference]);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("check name and credentials")]);
  expect((await boxyard(["push", name("made"), "no-registry"])).stderr).toContain("names no registry");
}, 60_000);

test("exported, it is an archive that others can read; imported, the template that it was", async () => {
  const exported = await boxyard(["export", name("made"), archive]);
  expect([exported.exitCode, exported.stdout]).toEqual([0, expect.stringMatching(/^sha256:[0-9a-f]{64}$/)]);
  const read = await runProgram(["python3", join(CHECKOUT, "e2e/images/read-archive.py"), archive]);
  expect(read.stderr).toBe("");
  expect(JSON.parse(read.stdout)).toEqual({
    layout: { imageLayoutVersion: "1.0.0" },
    mediaTypes: ["image.index.v1+json", "image.manifest.v1+json", "image.config.v1+json", "image.layer.v1.tar"].map(
      (kind) => `application/vnd.oci.${kind}`,
    ),
    name: `${name("made")}:default`,
    digest: exported.stdout,
    others: ["oci-layout", "index.json"],
    user: "user",
    cmd: ["/bin/bash", "-l", "-c", 'echo "$GREETING from $(id -un)" > /home/user/started; sleep 1000'],
    layers: expect.any(Array),
  });
  // Whenever it goes out, and wherever to, it is the same.
  const pieces: Uint8Array[] = [];
  await Template.export(name("made"), (piece) => void pieces.push(piece), target());
  expect(Buffer.concat(pieces).equals(await Bun.file(archive).bytes())).toBe(true);
  const piped = await runProgram(
    ["sh", "-c", `"$0" "$1" template export "$2" - | cmp - "$3"`, process.execPath, CLI, name("made"), archive],
    { env: userEnv() },
  );
  expect([piped.exitCode, piped.stdout]).toEqual([0, ""]);
  const imported = await boxyard(["import", archive, name("copy")]);
  expect([imported.exitCode, imported.stdout]).toEqual([0, expect.stringMatching(/^[a-z0-9]{20}$/)]);
  expect(await listing(name("copy"))).toBe(original);
}, 60_000);

test("the SDK adds steps to an archive, and tells what is wrong with one", async () => {
  const states: string[] = [];
  const lines: string[] = [];
  await Template.fromArchive(archive)
    .run("echo more > /srv/more", { user: "root" })
    .build(name("sdk"), {
      ...target(),
      onUpload: ({ state }) => void states.push(state),
      onLog: ({ message }) => void lines.push(message),
    });
  expect(states).toEqual(["packing", "cached"]);
  expect(lines.some((line) => line.startsWith("CACHED [base] FROM archive"))).toBe(true);
  expect(await listing(name("sdk"))).toContain("./more");
  const damaged = join(directory, "damaged.tar");
  writeFileSync(damaged, (await Bun.file(archive).bytes()).fill(1, 3000, 3010));
  await expect(Template.fromArchive(damaged).build(name("bad"), target())).rejects.toMatchObject({ name: "BuildError", step: "base" });
  await Template.delete(name("bad"), target());
}, 60_000);

test("an export that is given up, or fails, leaves no file; one of nothing says so", async () => {
  const abort = new AbortController();
  const to = join(directory, "given-up.tar");
  const given = Template.export(name("made"), to, { ...target(), signal: abort.signal, onProgress: () => abort.abort() });
  await expect(given).rejects.toMatchObject({ name: "AbortError" });
  await expect(Template.export("nothing", to, target())).rejects.toMatchObject({ name: "NotFoundError", reason: "template_not_found" });
  await expect(Template.export(name("made"), () => Promise.reject(new Error("mine")), target())).rejects.toThrow("mine");
  expect(readdirSync(directory).filter((file) => file.startsWith("given-up"))).toEqual([]);
  expect(existsSync(join(platform().dataDir, "downloads")) ? readdirSync(join(platform().dataDir, "downloads")) : []).toEqual([]);
});

test("a server killed in the middle of a push leaves nothing, and the push done again is whole", async () => {
  const asked = Promise.withResolvers<void>();
  const silent = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // Has nothing, begins an upload, and never takes what is sent.
    fetch: (request) => {
      if (request.method === "HEAD") return new Response(null, { status: 404 });
      if (request.method === "POST") return new Response(null, { status: 202, headers: { location: "/v2/app/blobs/uploads/1" } });
      asked.resolve();
      return new Promise<Response>(() => {});
    },
  });
  const working = () => readdirSync(join(platform().dataDir, "downloads"));
  const pushed = Template.push(name("made"), `127.0.0.1:${silent.port}/app`, target()).catch((error: unknown) => error);
  await asked.promise;
  expect(working().length).toBe(1);
  await platform().kill9();
  expect(await pushed).toMatchObject({ name: "ConnectionError", reason: "network_failed" });
  await platform().restart();
  await silent.stop(true);
  expect(working()).toEqual([]);
  const again = await Template.push(name("made"), `${registry.host}/team/again`, { ...target(), registry: { type: "registry", ...LOGIN } });
  expect(again.digest).toMatch(/^sha256:/);
}, 60_000);

test("the login is nowhere in what the server keeps", async () => {
  const found = await runProgram(["grep", "-rlF", "--exclude-dir=pool", "--exclude=pool.img", LOGIN.password, platform().dataDir]);
  expect(found.stdout).toBe("");
});
