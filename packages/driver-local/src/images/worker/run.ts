import { fsync, syncFileSystem, writeAll } from "../../sys/at.ts";
import { close, mkdir, O, open } from "../../sys/libc.ts";
import { SkeletonWriter } from "../skeleton-writer.ts";
import { FILES, type Job, type LayerFacts, type LayerJob, type Made, type Send } from "./jobs.ts";

/** Runs a job to its end. The layer is complete and on the disk when `done` is sent. */
export async function runJob(job: Job, send: Send): Promise<void> {
  if (job.kind === "export") return (await import("./export.ts")).writeExport(job.tree, job.facts);
  if (job.kind === "exportVolume") return (await import("./run-archive.ts")).writeVolume(job);
  if (job.kind === "importVolume") return (await import("./run-archive.ts")).fillVolume(job, send);
  const facts = `${job.directory}/${FILES.facts}`;
  mkdir(facts, 0o700);
  mkdir(`${facts}/${FILES.kept}`, 0o700);
  const skeletonFd = open(`${facts}/${FILES.skeleton}`, O.WRONLY | O.CREAT | O.EXCL, 0o600);
  try {
    const skeleton = new SkeletonWriter(skeletonFd);
    const made = await make(job, skeleton, send);
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

async function make(job: LayerJob, skeleton: SkeletonWriter, send: Send): Promise<Made> {
  if (job.kind === "import") return (await import("./run-import.ts")).runImport(job, skeleton, send);
  return (await import("./run-pack.ts")).runPack(job, skeleton, send);
}

function writeFacts(directory: string, facts: LayerFacts, sync: (fd: number) => void): void {
  const fd = open(`${directory}/${FILES.factsFile}`, O.WRONLY | O.CREAT | O.EXCL, 0o600);
  try {
    writeAll(fd, Buffer.from(JSON.stringify(facts)));
    sync(fd);
  } finally {
    close(fd);
  }
}
