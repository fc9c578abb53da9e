import { AppError, atOnce, type Clock, type ErrorCode, type SandboxId, type Step } from "@boxyard/core";
import type { CheckpointHolder, EndCause, SandboxRecord } from "../../store/index.ts";
import { type MakerParts, makeSandbox } from "../create/maker.ts";
import type { Operation } from "../engine/operation.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { newInitKey } from "../tokens.ts";
import { CREATE_MS, type CreateTemplate } from "../transitions/create.ts";
import { snapshot } from "../transitions/snapshot.ts";

export interface ForkParts extends MakerParts {
  readonly clock: Clock;
}

export interface ForkInput {
  /** The ids of the copies. */
  readonly ids: readonly SandboxId[];
}

/** One copy, or the error of its create; as JSON. */
export type Copied =
  | { readonly id: SandboxId }
  | { readonly error: { readonly code: ErrorCode; readonly reason: string; readonly message: string } };

export interface ForkContext extends ForkInput {
  readonly parts: ForkParts;
  readonly source: Sandbox;
  /** Lifetime of each copy. */
  readonly timeoutMs: number;
  /** Aborts when the client has disconnected. */
  readonly caller: AbortSignal;
  /** The id of the checkpoint from which the copies start. The operation has a reference to it until its end. */
  readonly checkpoint: string;
  readonly holder: CheckpointHolder;
  /** The record of the source when it was captured. */
  captured: SandboxRecord;
  /** In the order of the ids. */
  readonly copies: Copied[];
}

/** Number of copies of one fork that are created at the same time. Each one waits for its turn among all creates. */
const AT_ONCE = 8;

const capture: Step<ForkContext> = {
  name: "capture",
  async run(context) {
    const { parts, source, checkpoint, holder, caller } = context;
    const { source: captured } = await parts.engine.run(source, snapshot, { id: checkpoint, memory: true, holder }, { signal: caller });
    context.captured = captured;
  },
};

/** If a copy cannot be created, its result is an error. If the client has disconnected, and so does not know the ids, all copies are removed. */
const makeCopies: Step<ForkContext> = {
  name: "makeCopies",
  async run(context, undo) {
    const { parts, ids, caller, copies } = context;
    undo.add("endCopies", () => endCopies(parts, ids, "requested"));
    await atOnce(ids.entries(), AT_ONCE, async ([i, id]) => {
      copies[i] = await makeCopy(context, id).then(
        () => ({ id }),
        (error: unknown) => ({ error: told(error) }),
      );
    });
    if (caller.aborted) throw new AppError("canceled", "The client has gone", { reason: "client_gone" });
  },
};

function makeCopy({ parts, captured, timeoutMs, caller, checkpoint }: ForkContext, id: SandboxId): Promise<SandboxRecord> {
  const { templateEnv, commands } = captured.facts;
  const input: CreateTemplate = { env: templateEnv ?? {}, ...commands, from: { snapshot: checkpoint, memory: true } };
  return makeSandbox(parts, copyOf(captured, id, timeoutMs, parts.clock.now()), input, caller);
}

/** If the removal of one fails, the sweep tries again. */
function endCopies({ engine }: Pick<ForkParts, "engine">, ids: readonly SandboxId[], cause: EndCause): Promise<void> {
  return atOnce(ids, AT_ONCE, async (id) => {
    const copy = engine.sandboxes.find(id);
    if (copy) await engine.end(copy, cause).catch(() => {});
  });
}

/**
 * Makes copies of a running sandbox, each with its own ids, tokens and lifetime. This is an operation, not a transition of the source: the source keeps
 * running, and can be paused or killed, while a `create` makes each copy. After a failure no copy is left. If the server dies before all copies were
 * tried, the next server removes those that there are; after that they stay, as after a create whose answer is lost.
 */
export const fork: Operation<ForkInput, ForkContext, readonly Copied[], Pick<ForkParts, "engine">> = {
  name: "fork",
  steps: [capture, makeCopies],
  output: ({ copies }) => copies,
  undoLeft: (parts, { ids }) => endCopies(parts, ids, "unfinished"),
};

/** The record of a copy: the source's facts and settings, without its name, with an id, an init key and a lifetime of its own. */
function copyOf(source: SandboxRecord, id: SandboxId, timeoutMs: number, now: number): SandboxRecord {
  const { owner, teamId, templateId, facts } = source;
  const { pauseMode: _, pauseCause: _cause, setup: _ofSource, ...settings } = source.settings;
  const { claimedUnder: _claimed, ...own } = facts;
  return {
    id,
    owner,
    teamId,
    templateId,
    state: "creating",
    incarnation: 1,
    createdAt: now,
    endAt: now + CREATE_MS,
    facts: { ...own, initKey: newInitKey(), timeoutMs },
    settings,
  };
}

function told(error: unknown) {
  const { code, reason, message } =
    error instanceof AppError ? error : new AppError("internal", "The copy could not be made; the server's log says why", { cause: error });
  return { code, reason, message };
}
