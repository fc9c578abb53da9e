import { chmodSync } from "node:fs";
import type { Step } from "@boxyard/core";
import { type VolumeArchive, volumeNotFound } from "@boxyard/driver";
import { KEPT } from "../checkpoint-store/marker.ts";
import type { PoolStorage } from "../parts.ts";
import { hasErrno } from "../sys/libc.ts";
import { fillFromArchive } from "./archive.ts";
import type { VolumeFiles } from "./volume-files.ts";

/** Everybody may write to a new volume: its users decide among themselves. */
const ROOT_MODE = 0o777;

export interface CreateVolumeContext {
  readonly storage: Pick<PoolStorage, "createTree" | "cloneTree">;
  readonly files: VolumeFiles;
  readonly id: string;
  readonly limitBytes: number;
  /** Id of the volume of which it begins as a copy, and what that holds. */
  readonly from: string | undefined;
  readonly heldBytes: number;
  /** What it begins with, if not with another volume's files. */
  readonly archive: VolumeArchive | undefined;
  readonly createdAt: number;
  /** Of `heldBytes`, what the kernel does not charge to the copy. */
  baseBytes: number;
}

const beginVolume: Step<CreateVolumeContext> = {
  name: "beginVolume",
  async run({ files, id }, undo) {
    // What a create or a removal has left that was cut off.
    await files.remove(id);
    undo.add("volume", () => files.remove(id));
    files.begin(id);
  },
};

const makeVolumeDisk: Step<CreateVolumeContext> = {
  name: "makeVolumeDisk",
  async run(ctx) {
    const { storage, files, id, from, limitBytes } = ctx;
    if (from === undefined) {
      await storage.createTree(files.pathOf(id), KEPT.disk, limitBytes);
      chmodSync(files.diskOf(id), ROOT_MODE);
      return;
    }
    try {
      ctx.baseBytes = await storage.cloneTree(files.diskOf(from), files.pathOf(id), KEPT.disk, ctx);
    } catch (error) {
      // It was removed meanwhile.
      throw hasErrno(error, "ENOENT") ? volumeNotFound(from) : error;
    }
  },
};

const unpackArchive: Step<CreateVolumeContext> = {
  name: "unpackArchive",
  async run({ files, id, limitBytes, archive }) {
    if (archive) await fillFromArchive({ disk: files.diskOf(id), limitBytes }, archive);
  },
};

/** Writes the marker, after everything else: from here on the volume is whole. */
const completeVolume: Step<CreateVolumeContext> = {
  name: "completeVolume",
  run: ({ files, id, limitBytes, baseBytes, createdAt }) => files.write({ version: 1, id, limitBytes, baseBytes, createdAt }),
};

export const createVolumeSteps: readonly Step<CreateVolumeContext>[] = [beginVolume, makeVolumeDisk, unpackArchive, completeVolume];
