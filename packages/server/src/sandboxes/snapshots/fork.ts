import { AppError, atOnce, type Clock, type SandboxId, type Step } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import { type MakerParts, makeSandbox } from "../create/maker.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { Sequence } from "../engine/sequence.ts";
import { newInitKey } from "../tokens.ts";
import { CREATE_MS, type CreateTemplate } from "../transitions/create.ts";
import { snapshot } from "../transitions/snapshot.ts";
import type { HeldCheckpoint, SnapshotKeeper } from "../upkeep/snapshot-keeper.ts";

export interface ForkParts extends MakerParts {
  readonly snapshotKeeper: SnapshotKeeper;
  readonly clock: Clock;
}

/** One copy, or the error of its create. */
export type Forked = { readonly record: SandboxRecord } | { readonly error: AppError };

export interface ForkContext {
  readonly parts: ForkParts;
  readonly source: Sandbox;
  /** The ids of the copies. */
  readonly ids: readonly SandboxId[];
  /** Lifetime of each copy. */
  readonly timeoutMs: number;
  /** Aborts when the client has disconnected. */
  readonly caller: AbortSignal;
  /** The checkpoint from which the copies start. */
  readonly held: HeldCheckpoint;
  /** The record of the source when the snapshot was taken. */
  captured: SandboxRecord;
  /** The results of `makeCopies`, in the order of the ids. */
  readonly copies: Forked[];
}

/** Number of copies of one fork that are created at the same time. Each one waits for its turn among all creates. */
const AT_ONCE = 8;

const capture: Step<ForkContext> = {
  name: "capture",
  async run(context, undo) {
    const { parts, source, held, caller } = context;
    undo.add("releaseSnapshot", () => release(context));
    context.captured = await parts.engine.run(source, snapshot, { id: held.id, memory: true }, { signal: caller });
  },
};

/** If a copy cannot be created, its result is an error. If the client has disconnected, and so does not know the ids, all copies are removed. */
const makeCopies: Step<ForkContext> = {
  name: "makeCopies",
  async run(context, undo) {
    const { parts, ids, caller, copies } = context;
    undo.add("endCopies", () => atOnce(ids, AT_ONCE, (id) => endCopy(parts, id)));
    await atOnce(ids.entries(), AT_ONCE, async ([i, id]) => {
      copies[i] = await makeCopy(context, id).then(
        (record) => ({ record }),
        (error: unknown) => ({ error: told(error) }),
      );
    });
    if (caller.aborted) throw new AppError("canceled", "The client has gone", { reason: "client_gone" });
  },
};

/** The copies no longer need the snapshot. */
const releaseSnapshot: Step<ForkContext> = { name: "releaseSnapshot", run: release };

/** If the removal of the snapshot fails, the sweep removes it. Repeatable. */
async function release({ parts, held }: ForkContext): Promise<void> {
  held[Symbol.dispose]();
  await parts.snapshotKeeper.collect().catch(() => {});
}

function makeCopy({ parts, captured, timeoutMs, caller, held }: ForkContext, id: SandboxId): Promise<SandboxRecord> {
  const { templateEnv, commands } = captured.facts;
  const input: CreateTemplate = { env: templateEnv ?? {}, ...commands, from: { snapshot: held.id, memory: true } };
  return makeSandbox(parts, copyOf(captured, id, timeoutMs, parts.clock.now()), input, caller);
}

/** If the removal fails, the sweep tries again. */
async function endCopy({ engine }: ForkParts, id: SandboxId): Promise<void> {
  const copy = engine.sandboxes.find(id);
  if (copy) await engine.end(copy, "requested").catch(() => {});
}

/**
 * Makes copies of a running sandbox, each with its own ids, tokens and lifetime. This is a sequence, not a transition of the source: the source keeps
 * running, and can be paused or killed, while a `create` makes each copy. After a failure no copy is left. If the server dies, the copies whose creates
 * were complete stay, as after a create whose answer is lost; the others are removed.
 */
export const fork: Sequence<ForkContext> = { name: "fork", steps: [capture, makeCopies, releaseSnapshot] };

/** The record of a copy: the source's facts and settings, with an id, an init key and a lifetime of its own. */
function copyOf(source: SandboxRecord, id: SandboxId, timeoutMs: number, now: number): SandboxRecord {
  const { owner, teamId, templateId, facts } = source;
  const { pauseMode: _, ...settings } = source.settings;
  return {
    id,
    owner,
    teamId,
    templateId,
    state: "creating",
    incarnation: 1,
    createdAt: now,
    endAt: now + CREATE_MS,
    facts: { ...facts, initKey: newInitKey(), timeoutMs },
    settings,
  };
}

const told = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError("internal", "The copy could not be made; the server's log says why", { cause: error });
