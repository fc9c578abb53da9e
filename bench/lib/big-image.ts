import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MIB = 1 << 20;
const DIRECTORIES = 100;
const SMALL_FILES = 10_000;
const LARGE_FILES = 100;
/** Together they make 500 MB. */
const SMALL_BYTES = 10_000;
const LARGE_BYTES = 4_000_000;

export interface BigImage extends Disposable {
  /** The layer's tar as it is, and packed. */
  readonly tar: string;
  readonly gzip: string;
  readonly bytes: number;
}

/** 500 MB as images have them: 10,000 small files and 100 large ones, which pack to about half. */
export function addBigFiles(tree: string): void {
  const noise = new Uint8Array(8 * MIB);
  // Every second run of 4 KiB is noise, so that it packs as programs do.
  for (let at = 0; at < noise.length; at += 8192) crypto.getRandomValues(noise.subarray(at, at + 4096));
  for (let i = 0; i < DIRECTORIES; i++) mkdirSync(join(tree, `opt/files/${i}`), { recursive: true });
  const put = (name: string, size: number, i: number) => {
    const from = (i * 4999) % (noise.length - size);
    writeFileSync(join(tree, `opt/files/${i % DIRECTORIES}`, name), noise.subarray(from, from + size));
  };
  for (let i = 0; i < SMALL_FILES; i++) put(`small-${i}`, SMALL_BYTES, i);
  for (let i = 0; i < LARGE_FILES; i++) put(`large-${i}`, LARGE_BYTES, i);
}

/** A layer of them. */
export function makeBigImage(): BigImage {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-big-image-"));
  try {
    const tree = join(directory, "tree");
    addBigFiles(tree);
    const tar = join(directory, "layer.tar");
    mustRun(["tar", "-C", tree, "--owner=0", "--group=0", "-cf", tar, "."]);
    rmSync(tree, { recursive: true });
    mustRun(["gzip", "-k", "-1", tar]);
    return {
      tar,
      gzip: `${tar}.gz`,
      bytes: Bun.file(tar).size,
      [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
}

export function mustRun(argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(argv, { stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr}`);
}
