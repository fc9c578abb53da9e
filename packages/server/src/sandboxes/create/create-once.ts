import { createHash } from "node:crypto";
import type { SandboxId, Step, TeamId } from "@boxyard/core";
import type { SandboxRecord, Store } from "../../store/index.ts";
import type { Operation } from "../engine/operation.ts";
import type { Operations } from "../engine/operations.ts";
import type { CreateTemplate } from "../transitions/create.ts";
import { type MakerParts, makeSandbox } from "./maker.ts";

export interface CreateOnceInput {
  readonly id: SandboxId;
}

/** What a create under an idempotency key or a name has made; as JSON. */
export interface Created {
  readonly id: SandboxId;
}

export interface CreateOnceContext {
  readonly parts: MakerParts;
  readonly wanted: SandboxRecord;
  readonly template: CreateTemplate;
  /** Aborts when nobody waits for the sandbox any more. */
  readonly caller: AbortSignal;
  /** The record of the sandbox that runs, after `make`. */
  made: SandboxRecord | undefined;
}

const make: Step<CreateOnceContext> = {
  name: "make",
  async run(context, undo) {
    const { parts, wanted, template, caller } = context;
    undo.add("end", () => end(parts, wanted.id));
    context.made = await makeSandbox(parts, wanted, template, caller);
  },
};

/** If the removal fails, the sweep tries again. */
async function end({ engine }: Pick<MakerParts, "engine">, id: SandboxId): Promise<void> {
  const sandbox = engine.sandboxes.find(id);
  // An earlier version's operation may have the id of a sandbox of the pool, which goes on waiting.
  if (sandbox && !sandbox.isEnding && sandbox.record.owner.kind === "user") await engine.end(sandbox, "unfinished").catch(() => {});
}

/**
 * A create that its client can ask for again, under an idempotency key or a name. The write of the output decides what the client is told: before it, a
 * dead server has made nothing, and the next server removes the sandbox; after it, the same key gets this sandbox.
 */
export const createOnce: Operation<CreateOnceInput, CreateOnceContext, Created, Pick<MakerParts, "engine">> = {
  name: "createOnce",
  steps: [make],
  output: ({ wanted }) => ({ id: wanted.id }),
  undoLeft: (parts, { id }) => end(parts, id),
};

export interface OnceParts extends MakerParts {
  readonly operations: Operations;
}

/** Makes a sandbox as `makeSandbox` does, as an operation whose id is that of the sandbox. */
export async function makeSandboxOnce(
  { operations, ...parts }: OnceParts,
  wanted: SandboxRecord,
  template: CreateTemplate,
  caller: AbortSignal,
): Promise<SandboxRecord> {
  const { id, teamId } = wanted;
  const context: CreateOnceContext = { parts, wanted, template, caller, made: undefined };
  // The create itself ends when its caller leaves; what is made by then is noted.
  const never = new AbortController().signal;
  await operations.run(createOnce, { id, teamId, input: { id }, about: id }, context, never);
  return context.made ?? wanted;
}

/** The record that a sandbox of the pool is to get from a create under this key: it says so, for `madeOnce`. */
export const claimedUnder = (key: string | undefined, record: SandboxRecord): SandboxRecord =>
  key === undefined ? record : { ...record, facts: { ...record.facts, claimedUnder: digestOf(key) } };

const digestOf = (key: string) => createHash("sha256").update(key).digest("hex");

/**
 * The sandbox that an earlier create has made under this id and key, ended or not; undefined when that was undone. A claim is no operation: it is one
 * write, after which the sandbox is a user's. Where the server died before it, the sandbox goes on waiting, and may be another create's by now.
 */
export async function madeOnce(
  store: Pick<Store, "operations" | "getSandbox">,
  id: SandboxId,
  { teamId, key }: { readonly teamId: TeamId; readonly key: string | undefined },
): Promise<SandboxRecord | undefined> {
  const found = await store.operations.find(id);
  if (found) return found.output === undefined ? undefined : store.getSandbox(id);
  const record = await store.getSandbox(id);
  if (key === undefined || record?.teamId !== teamId || record.facts.claimedUnder !== digestOf(key)) return undefined;
  // A claim whose write has taken place, but seemed to fail, was undone.
  return record.reason === "create_failed" ? undefined : record;
}
