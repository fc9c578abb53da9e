import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { usePlatform } from "../support/platform.ts";

const LOGIN = { username: "tester", password: "secret" };
const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const platform = usePlatform();
let registry: TestRegistry;
const tree = mkdtempSync(join(tmpdir(), "boxyard-image-"));

beforeAll(async () => {
  registry = await startRegistry({ login: LOGIN });
  await makeTree();
  await push("tiny", { Env: ["PATH=/bin", "FROM_IMAGE=yes"], WorkingDir: "/elsewhere" });
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  rmSync(tree, { recursive: true, force: true });
});

/** The smallest foreign image: busybox, no bash, no useradd, no sudo, no user but root. */
async function makeTree(): Promise<void> {
  for (const folder of ["bin", "etc", "root", "tmp"]) mkdirSync(join(tree, folder));
  cpSync("/bin/busybox", join(tree, "bin/busybox"));
  const { stdout } = await runProgram(["/bin/busybox", "--list"]);
  for (const name of stdout.trim().split("\n")) if (name !== "busybox") symlinkSync("busybox", join(tree, "bin", name));
  writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  writeFileSync(join(tree, "etc/group"), "root:x:0:\n");
}

const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const call = (path: string, init: RequestInit = {}) =>
  fetch(new URL(path, `http://${registry.host}`), {
    ...init,
    headers: { ...(init.headers as Record<string, string>), Authorization: `Basic ${btoa(`${LOGIN.username}:${LOGIN.password}`)}` },
  });

async function blob(name: string, bytes: Uint8Array<ArrayBuffer>) {
  const digest = sha256(bytes);
  const begun = await call(`/v2/${name}/blobs/uploads/`, { method: "POST" });
  const place = new URL(begun.headers.get("location") ?? "", `http://${registry.host}`);
  place.searchParams.set("digest", digest);
  expect((await call(place.pathname + place.search, { method: "PUT", body: bytes })).status).toBe(201);
  return { digest, size: bytes.byteLength };
}

async function push(name: string, config: object): Promise<void> {
  const tar = Bun.spawnSync(["tar", "-C", tree, "--owner=0", "--group=0", "-cf", "-", "."]).stdout;
  const layer = await blob(name, Bun.gzipSync(new Uint8Array(tar)));
  const document = {
    architecture: process.arch === "arm64" ? "arm64" : "amd64",
    os: "linux",
    config,
    rootfs: { type: "layers", diff_ids: [sha256(tar)] },
  };
  const settings = await blob(name, new TextEncoder().encode(JSON.stringify(document)));
  const manifest = {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: { mediaType: "application/vnd.oci.image.config.v1+json", ...settings },
    layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", ...layer }],
  };
  const put = await call(`/v2/${name}/manifests/latest`, {
    method: "PUT",
    headers: { "Content-Type": MANIFEST },
    body: JSON.stringify(manifest),
  });
  expect(put.status).toBe(201);
}

test("the published client builds on an image of a registry that asks for a login", async () => {
  const program = join(CHECKOUT, "e2e/clients/js/run.mjs");
  const env = { ...platform().env, IMAGE: `${registry.host}/tiny`, IMAGE_USER: LOGIN.username, IMAGE_PASSWORD: LOGIN.password };
  const ended = await runProgram(["node", program, "e2b", "from-image", "registry"], { env, limitMs: 100_000 });
  expect(ended.stdout + ended.stderr).toBe("");
  expect(ended.exitCode).toBe(0);
}, 120_000);
