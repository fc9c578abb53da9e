import { AppError } from "@boxyard/core/errors";
import { createFromSeed } from "../../pool-storage/from-seed.ts";
import { fchmod } from "../../sys/at.ts";
import { createSubvolume } from "../../sys/btrfs.ts";
import { close, O, open } from "../../sys/libc.ts";
import type { SkeletonWriter } from "../skeleton-writer.ts";
import { TarReader } from "../tar/reader.ts";
import { Unpacker } from "../unpack.ts";
import { uncompressed } from "./input.ts";
import { FILES, type Job, type Made, type Send } from "./jobs.ts";
import { limitTree } from "./limit-tree.ts";

/** Unpacks the tar on standard input as a layer. */
export async function runImport(job: Extract<Job, { kind: "import" }>, skeleton: SkeletonWriter, send: Send): Promise<Made> {
  if (job.seed === undefined) createSubvolume(job.directory, FILES.tree);
  else createFromSeed(job.seed, job.directory, FILES.tree);
  limitTree(job);
  const root = open(`${job.directory}/${FILES.tree}`, O.RDONLY | O.DIRECTORY);
  // The mode for a layer whose tar has no entry for the root, independent of the umask.
  fchmod(root, 0o755);
  const kept = open(`${job.directory}/${FILES.facts}/${FILES.kept}`, O.RDONLY | O.DIRECTORY);
  const unpacker = new Unpacker({ root, kept, skeleton, maxEntries: job.maxEntries });
  try {
    const reader = new TarReader(unpacker);
    const hash = new Bun.CryptoHasher("sha256");
    let sizeBytes = 0;
    for await (const piece of uncompressed((bytesRead) => send({ type: "progress", bytesRead }))) {
      sizeBytes += piece.length;
      if (sizeBytes > job.maxBytes) {
        throw new AppError("resource_exhausted", "The layer is larger than allowed", { reason: "layer_too_large" });
      }
      hash.update(piece);
      reader.push(piece);
    }
    reader.end();
    const digest = `sha256:${hash.digest("hex")}`;
    if (job.expectedDigest !== undefined && job.expectedDigest !== digest) {
      throw new AppError("data_loss", `The layer is ${digest}, not ${job.expectedDigest}`, { reason: "bad_digest" });
    }
    unpacker.finish();
    skeleton.finish();
    if (unpacker.leftOut.count > 0) send({ type: "leftOut", ...unpacker.leftOut });
    return { digest, sizeBytes, replaced: unpacker.replaced };
  } finally {
    unpacker.close();
    close(kept);
    close(root);
  }
}
