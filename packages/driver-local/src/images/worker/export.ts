import { readFileSync } from "node:fs";
import { AppError } from "@boxyard/core/errors";
import { openAt, openInside, RESOLVE, statFd, TYPE, typeOf, writeAll } from "../../sys/at.ts";
import { close, O, open, syscall } from "../../sys/libc.ts";
import { readSkeleton } from "../skeleton-reader.ts";
import { FILES, type LayerFacts } from "./jobs.ts";

const STDOUT = 1;
const PIECE_BYTES = 1 << 20;

/** Writes a layer's tar to standard output: its skeleton, with the contents of the files inserted. */
export async function writeExport(tree: string, directory: string): Promise<void> {
  const facts = JSON.parse(readFileSync(`${directory}/${FILES.factsFile}`, "utf8")) as LayerFacts;
  const root = open(tree, O.RDONLY | O.DIRECTORY);
  const kept = open(`${directory}/${FILES.kept}`, O.RDONLY | O.DIRECTORY);
  const skeleton = open(`${directory}/${FILES.skeleton}`, O.RDONLY);
  try {
    const buffer = Buffer.alloc(PIECE_BYTES);
    for await (const record of readSkeleton(skeleton)) {
      if ("raw" in record) {
        writeAll(STDOUT, record.raw);
        continue;
      }
      // The first replacement after this content is the one that replaced it.
      const replaced = facts.replaced.find(({ path, before }) => path === record.path && record.index < before);
      const fd = replaced ? openAt(kept, replaced.file, O.RDONLY) : openInside(root, record.path, O.RDONLY | O.NOFOLLOW, RESOLVE.noLinks);
      try {
        copyOut(fd, record.size, buffer);
      } finally {
        close(fd);
      }
    }
  } finally {
    for (const fd of [root, kept, skeleton]) close(fd);
  }
}

function copyOut(fd: number, size: number, buffer: Buffer): void {
  const stat = statFd(fd);
  if (typeOf(stat) !== TYPE.file || stat.size !== size) throw changed();
  for (let left = size; left > 0; ) {
    const length = syscall("read", [fd, buffer, Math.min(left, buffer.length)]);
    if (length === 0) throw changed();
    writeAll(STDOUT, buffer.subarray(0, length));
    left -= length;
  }
}

const changed = () => new AppError("data_loss", "A layer in the storage pool was changed after it was made", { reason: "layer_changed" });
