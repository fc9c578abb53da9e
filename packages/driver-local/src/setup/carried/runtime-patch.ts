import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { AppError } from "@boxyard/core";

/**
 * The agent and the executable that carries it are the same Bun, each with other code at its end. So the executable carries only the bytes in
 * which the agent differs from it (2 of 111 MB), and copies the rest from its own file.
 *
 * A patch is one line of JSON, then the bytes that are not in the runtime, in their order.
 */
interface PatchHead {
  readonly version: 1;
  readonly bytes: number;
  readonly sha256: string;
  /** The ranges in which the file equals the runtime, at the same offsets: offset and length, ascending. */
  readonly same: readonly (readonly [offset: number, length: number])[];
}

const BLOCK_BYTES = 4096;
const COPY_BYTES = 1 << 20;
const NEWLINE = 10;

/** The patch that makes `file` from a program that has the bytes of `runtime` wherever `file` has them. */
export function makePatch(runtime: Uint8Array, file: Uint8Array): Uint8Array {
  const same = commonBlocks(runtime, file);
  const sha256 = new Bun.CryptoHasher("sha256").update(file).digest("hex");
  const head: PatchHead = { version: 1, bytes: file.length, sha256, same };
  const parts: Uint8Array[] = [new TextEncoder().encode(`${JSON.stringify(head)}\n`)];
  let at = 0;
  for (const [offset, length] of same) {
    parts.push(file.subarray(at, offset));
    at = offset + length;
  }
  return Buffer.concat([...parts, file.subarray(at)]);
}

function commonBlocks(runtime: Uint8Array, file: Uint8Array): [number, number][] {
  const runs: [number, number][] = [];
  const end = Math.min(runtime.length, file.length);
  for (let offset = 0; offset + BLOCK_BYTES <= end; offset += BLOCK_BYTES) {
    if (Buffer.compare(runtime.subarray(offset, offset + BLOCK_BYTES), file.subarray(offset, offset + BLOCK_BYTES)) !== 0) continue;
    const last = runs.at(-1);
    if (last && last[0] + last[1] === offset) last[1] += BLOCK_BYTES;
    else runs.push([offset, BLOCK_BYTES]);
  }
  return runs;
}

/** Writes the new file `target` from a patch and the program at `runtimePath`. `internal`, reason `bad_executable`, when its hash is wrong. */
export function applyPatch(patch: Uint8Array, runtimePath: string, target: string): void {
  const headEnd = patch.indexOf(NEWLINE);
  const head = JSON.parse(new TextDecoder().decode(patch.subarray(0, headEnd))) as PatchHead;
  const runtime = openSync(runtimePath, "r");
  try {
    const writer = new HashedFile(target);
    try {
      let own = headEnd + 1;
      let at = 0;
      for (const [offset, length] of head.same) {
        writer.write(patch.subarray(own, own + offset - at));
        own += offset - at;
        writer.copy(runtime, offset, length);
        at = offset + length;
      }
      writer.write(patch.subarray(own));
      if (writer.bytes !== head.bytes || writer.digest() !== head.sha256) {
        throw new AppError("internal", `${runtimePath} was changed after it was built, or is incomplete: download it again`, {
          reason: "bad_executable",
        });
      }
    } finally {
      writer.close();
    }
  } finally {
    closeSync(runtime);
  }
}

/** A new file, written from its beginning to its end. */
class HashedFile {
  bytes = 0;
  private readonly fd: number;
  private readonly hasher = new Bun.CryptoHasher("sha256");
  private readonly buffer = new Uint8Array(COPY_BYTES);

  constructor(path: string) {
    this.fd = openSync(path, "wx", 0o755);
  }

  write(chunk: Uint8Array): void {
    for (let done = 0; done < chunk.length; ) done += writeSync(this.fd, chunk, done);
    this.hasher.update(chunk);
    this.bytes += chunk.length;
  }

  /** Copies fewer bytes when the source ends before; then the digest is wrong. */
  copy(source: number, offset: number, length: number): void {
    for (let done = 0; done < length; ) {
      const read = readSync(source, this.buffer, 0, Math.min(COPY_BYTES, length - done), offset + done);
      if (read === 0) return;
      this.write(this.buffer.subarray(0, read));
      done += read;
    }
  }

  digest(): string {
    return this.hasher.digest("hex");
  }

  close(): void {
    closeSync(this.fd);
  }
}
