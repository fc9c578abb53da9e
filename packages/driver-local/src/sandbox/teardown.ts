import { rm } from "node:fs/promises";
import type { SandboxId } from "@boxyard/core";
import { Generations } from "../checkpoint-store/generation.ts";
import { type LocalSandboxRecord, readRecord } from "../state/record.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";
import { uidBaseOf } from "./recover.ts";
import { endTracers } from "./tracers.ts";

/** What no two sandboxes may hold at a time: network lease and range of user ids. */
export type Claims = Pick<LocalSandboxRecord, "lease" | "uidBase">;

/** What a removal knows of the sandbox. */
type Known = Partial<Pick<LocalSandboxRecord, keyof Claims | "process">>;

interface Removal {
  readonly name: string;
  /** Repeatable; nothing to remove is fine. */
  run(parts: LocalParts, id: SandboxId, known: Known): Promise<void>;
}

const endProcesses: Removal = {
  name: "endProcesses",
  async run(parts, id, { process }) {
    parts.wakeCache.take(id);
    endTracers(parts, id, process);
    await cgroupOf(parts, id).killAndWait();
    await parts.runtime.forget(id);
  },
};

const removeCgroup: Removal = { name: "removeCgroup", run: (parts, id) => cgroupOf(parts, id).remove() };

const detachNetwork: Removal = {
  name: "detachNetwork",
  async run(parts, _id, { lease }) {
    if (lease) await parts.networks.detach(lease);
  },
};

const removeDisk: Removal = { name: "removeDisk", run: (parts, id) => parts.storage.destroyDisk(id) };

const removeGenerations: Removal = {
  name: "removeGenerations",
  run: (parts, id) => new Generations(parts.storage.generationsRoot, id).removeAll(),
};

/** The directory is removed last: until then the sandbox is listed. Only then may another sandbox have its user ids. */
const removeDirectory: Removal = {
  name: "removeDirectory",
  async run(parts, id, { uidBase }) {
    parts.figures?.forget(id);
    // Retries, because `readAccount` may be writing a file there.
    await rm(parts.paths.sandbox(id), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
    if (uidBase !== undefined) parts.uidRanges.free(uidBase);
  },
};

/**
 * The stages of a removal. What is in one stage runs at the same time, each even when another fails; the next stage begins when all have
 * succeeded.
 */
const stages: readonly (readonly Removal[])[] = [
  [endProcesses],
  [removeCgroup, detachNetwork, removeDisk, removeGenerations],
  [removeDirectory],
];

/** The names of all removals, in order. */
export const REMOVALS: readonly string[] = stages.flat().map(({ name }) => name);

/**
 * Removes every trace of a sandbox, complete or not. Finds what to remove on the machine; `claimed` is what the state file does not name yet. It is
 * the one undo of every step of a create, and what `destroy` does. Throws the first failure; the sandbox stays listed then.
 */
export async function removeSandbox(parts: LocalParts, id: SandboxId, claimed: Partial<Claims> = {}): Promise<void> {
  const known = readRecord(parts.paths.state(id)) ?? claimsWithoutRecord(parts, id, claimed);
  for (const stage of stages) {
    const results = await Promise.allSettled(stage.map((removal) => observed(parts, removal, id, known)));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  }
}

async function observed(parts: LocalParts, removal: Removal, id: SandboxId, known: Known): Promise<void> {
  await parts.observer.before?.(removal.name);
  await removal.run(parts, id, known);
  await parts.observer.after?.(removal.name);
}

/** Claims of a sandbox whose record is damaged: its user ids are read from its processes before these end. */
function claimsWithoutRecord(parts: LocalParts, id: SandboxId, claimed: Partial<Claims>): Partial<Claims> {
  const uidBase = claimed.uidBase ?? uidBaseOf(parts, id);
  return uidBase === undefined ? claimed : { ...claimed, uidBase };
}
