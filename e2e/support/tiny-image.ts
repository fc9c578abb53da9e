import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "@boxyard/testkit";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";

export interface Login {
  readonly username: string;
  readonly password: string;
}

export interface TinyImage {
  /** Of a registry: `127.0.0.1:5000`. */
  readonly host: string;
  readonly login?: Login;
  /** `latest` by default. */
  readonly tag?: string;
  /** Puts more into the image's tree. */
  readonly addFiles?: (tree: string) => void | Promise<void>;
}

/** Pushes the smallest foreign image, made and sent by hand: busybox, no bash, no useradd, no sudo, no user but root. */
export async function pushTinyImage(name: string, config: object, { host, login, tag = "latest", addFiles }: TinyImage): Promise<void> {
  await new Pusher(host, name, login).push(await tinyTar(addFiles), config, tag);
}

/** The only layer of the smallest foreign image. */
export async function tinyTar(addFiles?: TinyImage["addFiles"]): Promise<Uint8Array<ArrayBuffer>> {
  const tree = mkdtempSync(join(tmpdir(), "boxyard-image-"));
  try {
    await makeTree(tree);
    await addFiles?.(tree);
    const pack = ["tar", "-C", tree, "--owner=0", "--group=0", "--xattrs", "--xattrs-include=security.capability", "-cf", "-", "."];
    const packed = Bun.spawnSync(pack);
    if (packed.exitCode !== 0) throw new Error(packed.stderr.toString());
    return new Uint8Array(packed.stdout);
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
}

async function makeTree(tree: string): Promise<void> {
  for (const directory of ["bin", "etc", "root", "tmp"]) mkdirSync(join(tree, directory));
  cpSync("/bin/busybox", join(tree, "bin/busybox"));
  const { stdout } = await runProgram(["/bin/busybox", "--list"]);
  for (const name of stdout.trim().split("\n")) if (name !== "busybox") symlinkSync("busybox", join(tree, "bin", name));
  writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n");
  writeFileSync(join(tree, "etc/group"), "root:x:0:\n");
}

const sha256 = (bytes: Uint8Array) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

class Pusher {
  private readonly base: string;
  private readonly name: string;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(host: string, name: string, login: Login | undefined) {
    this.base = `http://${host}`;
    this.name = name;
    this.headers = login ? { Authorization: `Basic ${btoa(`${login.username}:${login.password}`)}` } : {};
  }

  async push(tar: Uint8Array<ArrayBuffer>, config: object, tag: string): Promise<void> {
    const layer = await this.blob(Bun.gzipSync(tar, { level: 1 }));
    const architecture = process.arch === "arm64" ? "arm64" : "amd64";
    const document = { architecture, os: "linux", config, rootfs: { type: "layers", diff_ids: [sha256(tar)] } };
    const settings = await this.blob(new TextEncoder().encode(JSON.stringify(document)));
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: { mediaType: "application/vnd.oci.image.config.v1+json", ...settings },
      layers: [{ mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", ...layer }],
    };
    const init = { method: "PUT", headers: { "Content-Type": MANIFEST }, body: JSON.stringify(manifest) };
    await this.call(201, `/v2/${this.name}/manifests/${tag}`, init);
  }

  private async blob(bytes: Uint8Array<ArrayBuffer>): Promise<{ digest: string; size: number }> {
    const digest = sha256(bytes);
    const begun = await this.call(202, `/v2/${this.name}/blobs/uploads/`, { method: "POST" });
    const place = new URL(begun.headers.get("location") ?? "", this.base);
    place.searchParams.set("digest", digest);
    await this.call(201, place.pathname + place.search, { method: "PUT", body: bytes });
    return { digest, size: bytes.byteLength };
  }

  private async call(status: number, path: string, init: RequestInit): Promise<Response> {
    const response = await fetch(new URL(path, this.base), {
      ...init,
      headers: { ...(init.headers as Record<string, string>), ...this.headers },
    });
    if (response.status !== status) throw new Error(`${init.method} ${path}: ${response.status} ${await response.text()}`);
    return response;
  }
}
