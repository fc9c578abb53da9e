import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "@boxyard/testkit";
import { type Login, pushLayer } from "./push-image.ts";

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
  await pushLayer(await tinyTar(addFiles), config, { host, name, tag, login });
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
