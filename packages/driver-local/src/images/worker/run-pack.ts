import { snapshotSubvolume } from "../../sys/btrfs.ts";
import { withDirectory } from "../../sys/libc.ts";
import { claimUpper } from "../claim.ts";
import { layOver } from "../merge.ts";
import { packTree } from "../pack.ts";
import type { SkeletonWriter } from "../skeleton-writer.ts";
import { FILES, type Job, type Made, type Send } from "./jobs.ts";
import { limitTree } from "./limit-tree.ts";

/** Makes a layer of a sandbox's volume, or of other layers. */
export function runPack(job: Extract<Job, { kind: "commit" | "merge" }>, skeleton: SkeletonWriter, send: Send): Made {
  const from = job.kind === "commit" ? job.volume : (job.trees[0] as string);
  // A snapshot has everything written so far, also data in the page cache, and is on the disk when the call returns.
  snapshotSubvolume(from, job.directory, FILES.tree);
  limitTree(job);
  send({ type: "copied" });
  return withDirectory(`${job.directory}/${FILES.tree}`, (root) => {
    if (job.kind === "commit") claimUpper(root, job.uidBase, job.leaveOut);
    else for (const tree of job.trees.slice(1)) withDirectory(tree, (source) => layOver(root, source));
    return packTree(root, skeleton, job);
  });
}
