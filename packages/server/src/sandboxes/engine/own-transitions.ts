import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import type { EndCause, PauseCause, SandboxRecord } from "../../store/index.ts";
import type { EngineParts } from "./parts.ts";
import type { RecordChange, Transition } from "./transition.ts";

/**
 * What becomes of a sandbox that an earlier server has left.
 * - `running`, `paused`: the sandbox goes on in that state; `change` is written with the move if the record has another state.
 * - `remove`: the sandbox is removed, for the cause.
 * - `later`: the driver cannot tell now. That does not end a sandbox: the sweep asks again.
 * - `damaged`: the driver cannot read its own record of the sandbox. The sandbox is put in quarantine, and the sweep asks again.
 * - `keep`: nothing is to be done; the sandbox was adopted before.
 */
export type Answer =
  | { readonly next: "running"; readonly address: AgentAddress; readonly change?: RecordChange }
  | { readonly next: "paused"; readonly change?: RecordChange }
  | { readonly next: "remove"; readonly cause: EndCause }
  | { readonly next: "later" }
  | { readonly next: "damaged" }
  | { readonly next: "keep" };

export type AnswerFor = (parts: EngineParts, record: SandboxRecord, handle: SandboxHandle | undefined) => Promise<Answer>;

export interface PauseInput {
  readonly memory: boolean;
  /** False: the agent is not asked to freeze its commands, because it may hang. The driver freezes the whole sandbox. Only without memory. */
  readonly asksAgent?: boolean;
  readonly cause?: PauseCause;
}

export interface ResumeInput {
  /** How long the sandbox lives from now on. */
  readonly timeoutMs: number;
  /** False: the sandbox boots from its disk, even if its memory was kept. */
  readonly memory: boolean;
}

export interface KillInput {
  readonly cause: EndCause;
}

// biome-ignore lint/suspicious/noExplicitAny: the engine does not look into the context of a transition
type With<Input> = Transition<Input, any, SandboxRecord>;

/**
 * The transitions that the engine begins by itself (at the end of a sandbox's time, for a request that wakes it, for a removal), and the answer for a
 * sandbox that an earlier server has left. `transitions/` has them all: the engine knows none by name.
 */
export interface OwnTransitions {
  readonly kill: With<KillInput>;
  readonly pause: With<PauseInput>;
  readonly resume: With<ResumeInput>;
  readonly answerFor: AnswerFor;
}
