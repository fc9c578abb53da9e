import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { createFromSeed } from "../../pool-storage/inode-seeds.ts";
import { fsync, syncFileSystem } from "../../sys/at.ts";
import { createSubvolume, setQgroupLimit, snapshotSubvolume, subvolumeId } from "../../sys/btrfs.ts";
import { close, O, open } from "../../sys/libc.ts";
import { claimUpper } from "../claim.ts";
import { layOver } from "../merge.ts";
import { packTree } from "../pack.ts";
import { SkeletonWriter } from "../skeleton.ts";
import { TarReader } from "../tar/reader.ts";
import { Unpacker } from "../unpack.ts";
import { writeExport } from "./export.ts";
import { uncompressed } from "./input.ts";
import { FILES, type Job, type LayerFacts, type Message } from "./jobs.ts";

type Send = (message: Message) => void;

/** Runs a job to its end. The layer is complete and on the disk when `done` is sent. */
export async function runJob(job: Job, send: Send): Promise<void> {
  if (job.kind === "export") return writeExport(job.tree, job.facts);
  const facts = `${job.directory}/${FILES.facts}`;
  mkdirSync(`${facts}/${FILES.kept}`, { recursive: true, mode: 0o700 });
  const skeletonFd = open(`${facts}/${FILES.skeleton}`, O.WRONLY | O.CREAT | O.EXCL, 0o600);
  try {
    const skeleton = new SkeletonWriter(skeletonFd);
    const made = job.kind === "import" ? await runImport(job, skeleton, send) : runPack(job, skeleton, send);
    writeFacts(facts, { version: 1, createdAt: Date.now(), replaced: [], ...made }, (fd) => {
      // The new files of an import reach the disk only with the whole file system. The files of a snapshot are there already, except those synced here.
      if (job.kind === "import") return syncFileSystem(fd);
      fsync(skeletonFd);
      fsync(fd);
    });
    send({ type: "done", digest: made.digest });
  } finally {
    close(skeletonFd);
  }
}

type Made = Pick<LayerFacts, "digest" | "sizeBytes"> & Partial<LayerFacts>;

function runPack(job: Extract<Job, { kind: "commit" | "merge" }>, skeleton: SkeletonWriter, send: Send): Made {
  const from = job.kind === "commit" ? job.volume : (job.trees[0] as string);
  // A snapshot has everything written so far, also data in the page cache, and is on the disk when the call returns.
  snapshotSubvolume(from, job.directory, FILES.tree);
  limitTree(job);
  send({ type: "copied" });
  return inTree(job.directory, (root) => {
    if (job.kind === "commit") claimUpper(root, job.uidBase, job.leaveOut);
    else for (const tree of job.trees.slice(1)) inDirectory(tree, (source) => layOver(root, source));
    return packTree(root, skeleton, job);
  });
}

async function runImport(job: Extract<Job, { kind: "import" }>, skeleton: SkeletonWriter, send: Send): Promise<Made> {
  if (job.seed === undefined) createSubvolume(job.directory, FILES.tree);
  else createFromSeed(job.seed, job.directory, FILES.tree);
  limitTree(job);
  // The mode for a layer whose tar has no entry for the root, independent of the umask.
  chmodSync(`${job.directory}/${FILES.tree}`, 0o755);
  const root = open(`${job.directory}/${FILES.tree}`, O.RDONLY | O.DIRECTORY);
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

function limitTree({ directory, quotaBytes }: { readonly directory: string; readonly quotaBytes?: number }): void {
  if (quotaBytes !== undefined) setQgroupLimit(directory, subvolumeId(`${directory}/${FILES.tree}`), quotaBytes);
}

function inDirectory<T>(path: string, work: (fd: number) => T): T {
  const fd = open(path, O.RDONLY | O.DIRECTORY);
  try {
    return work(fd);
  } finally {
    close(fd);
  }
}

const inTree = <T>(directory: string, work: (fd: number) => T): T => inDirectory(`${directory}/${FILES.tree}`, work);

function writeFacts(directory: string, facts: LayerFacts, sync: (fd: number) => void): void {
  const path = `${directory}/${FILES.factsFile}`;
  writeFileSync(path, JSON.stringify(facts), { mode: 0o600 });
  const fd = open(path, O.RDONLY);
  try {
    sync(fd);
  } finally {
    close(fd);
  }
}
