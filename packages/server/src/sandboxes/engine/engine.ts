import { AppError } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import type { EndCause, SandboxChange, SandboxRecord, TakenChange } from "../../store/index.ts";
import { isNoPlace, isNoRoom, sandboxNotFound } from "../problems.ts";
import { Ends } from "./ends.ts";
import type { LivingSandboxes } from "./living.ts";
import type { Answer, OwnTransitions } from "./own-transitions.ts";
import type { EngineNeeds, EngineParts } from "./parts.ts";
import { mayWake, Reach } from "./reach.ts";
import { type RunOptions, runTransition, type WriteHow } from "./run.ts";
import { type Incarnation, Sandbox } from "./sandbox.ts";
import type { Transition, TransitionContext } from "./transition.ts";

const RETRY_MS = 5000;
const SETTLED: ReadonlySet<string> = new Set(["running", "paused"]);
/** Shortest lifetime of a sandbox that a request has resumed. Its own timeout counts where that is longer. */
const LEAST_WAKE_MS = 300_000;

/** Causes of an end that somebody wants; by the others the processes have ended already. */
const WANTED: ReadonlySet<EndCause> = new Set([
  "requested",
  "timeout",
  "idle",
  "setup_abandoned",
  "unresponsive",
  "owner_gone",
  "retention",
]);

/**
 * Changes sandboxes. Every change of a state is a `Transition`, and runs in the sandbox's turn, one at a time. Memory and store hold the same
 * record: the engine writes the intended state before the steps, and the resulting state after them.
 */
export class Engine {
  readonly sandboxes: LivingSandboxes;
  private readonly parts: EngineNeeds;
  private readonly own: OwnTransitions;
  private readonly reach: Reach;
  private readonly ends: Ends;
  private isClosed = false;

  constructor(parts: EngineNeeds, own: OwnTransitions) {
    this.parts = parts;
    this.sandboxes = parts.sandboxes;
    this.own = own;
    parts.routes.isReplaced = (id) => this.sandboxes.names.replacementOf(id) !== undefined;
    this.ends = new Ends(parts, {
      end: (sandbox, cause) => this.end(sandbox, cause),
      remove: (sandbox, cause) => this.remove(sandbox, cause),
      pause: (sandbox, input) => this.perform(sandbox, own.pause, input, {}),
      moveEnd: (sandbox, endAt) => this.write(sandbox, { endAt }, { first: "memory", ignoresStore: true }),
      follow: (sandbox) => this.reach.follow(sandbox),
    });
    this.reach = new Reach(parts, {
      due: (id) => void (this.isClosed || this.ends.onDue(id)),
      wanted: (sandbox) => this.wake(sandbox),
      ended: (sandbox, incarnation, cause) => this.end(sandbox, cause, incarnation),
    });
  }

  start(): void {
    this.reach.start();
  }

  /** Stops timers and watches. The sandboxes go on without this server. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.reach.stop();
    for (const sandbox of this.sandboxes.all()) sandbox.incarnation?.end();
  }

  /** Adds a new sandbox, which counts as living from now on. The caller calls `make` next. */
  add(record: SandboxRecord): Sandbox {
    this.parts.permit?.check();
    if (this.isClosed) throw new AppError("unavailable", "The server is shutting down", { reason: "shutting_down" });
    const sandbox = new Sandbox(record, this.parts.placement.nodeOf(record).driver, false);
    this.sandboxes.add(sandbox);
    return sandbox;
  }

  /** Runs the transition that makes a sandbox. When this throws, the sandbox is removed, or the sweep removes it. */
  async make<Input, Context extends TransitionContext, Output>(
    sandbox: Sandbox,
    transition: Transition<Input, Context, Output>,
    input: Input,
    options: RunOptions = {},
  ): Promise<Output> {
    return sandbox.queue.run(() => this.perform(sandbox, transition, input, options));
  }

  /** Runs a transition in the sandbox's turn. Throws `not_found`, or `aborted` (reason `wrong_state`) if the transition may not begin in the state of then. */
  async run<Input, Context extends TransitionContext, Output>(
    sandbox: Sandbox,
    transition: Transition<Input, Context, Output>,
    input: Input,
    options: RunOptions = {},
  ): Promise<Output> {
    return sandbox.queue.run(() => {
      if (sandbox.isEnding) throw sandboxNotFound(sandbox.id);
      if (!(transition.from as readonly string[]).includes(sandbox.state)) throw wrongState(sandbox);
      return this.perform(sandbox, transition, input, options);
    });
  }

  /** Runs several transitions in one turn of the sandbox: no other change comes between them. Throws `not_found`. */
  async inTurn<T>(sandbox: Sandbox, work: (run: RunInTurn) => Promise<T>): Promise<T> {
    return sandbox.queue.run(() => {
      if (sandbox.isEnding) throw sandboxNotFound(sandbox.id);
      return work((transition, input, options = {}) => {
        if (!transition.from.includes(sandbox.state as never)) throw wrongState(sandbox);
        return this.perform(sandbox, transition, input, options);
      });
    });
  }

  /**
   * Changes the record alone, in the sandbox's turn and in whatever state it is: the store first, so nothing has changed when this throws. Throws
   * `not_found`. `change` gets the record of then.
   */
  async amend(sandbox: Sandbox, change: (record: SandboxRecord) => Omit<SandboxChange, "state">): Promise<SandboxRecord> {
    return sandbox.queue.run(async () => {
      if (sandbox.isEnding) throw sandboxNotFound(sandbox.id);
      const wanted = change(sandbox.record);
      if (Object.keys(wanted).length > 0) await this.write(sandbox, wanted, { first: "store" });
      return sandbox.record;
    });
  }

  /**
   * Removes a sandbox, whatever its state. Repeatable. Throws when the driver could not remove it; the sweep tries again. `only`: does nothing
   * when the sandbox has another incarnation by then, or waits for its adoption.
   */
  async end(sandbox: Sandbox, cause: EndCause, only?: Incarnation): Promise<void> {
    if (WANTED.has(cause)) this.parts.permit?.check();
    // A transition in progress aborts and runs its undo actions. Then the removal has its turn.
    if (cause === "requested") sandbox.interrupt();
    await sandbox.queue.run(async () => {
      // After a transition that could not be undone, the end of the processes has no meaning: the pause may have ended them. The sweep asks the driver.
      if (sandbox.isEnding || (only && (sandbox.incarnation !== only || sandbox.pending))) return;
      // A client may have moved the end, or used the sandbox, while the removal waited for its turn.
      const isOfTime = cause === "timeout" || cause === "idle" || cause === "setup_abandoned";
      if (isOfTime && this.ends.dueOf(sandbox) !== cause) return this.reach.follow(sandbox);
      await this.remove(sandbox, cause);
    });
  }

  /** Removes a sandbox by a rule of retention, if it is still paused, and has been since then. */
  async expire(sandbox: Sandbox, pausedAt: number): Promise<void> {
    await sandbox.queue.run(async () => {
      this.parts.permit?.check();
      if (sandbox.state === "paused" && sandbox.record.endAt === pausedAt) await this.remove(sandbox, "retention");
    });
  }

  /** Tries a failed removal again, if it is time for that. */
  async retryRemoval(sandbox: Sandbox): Promise<void> {
    if (sandbox.state !== "killing" || sandbox.retryAt > this.parts.clock.monotonic()) return;
    await sandbox.queue.run(async () => {
      if (sandbox.state === "killing") await this.remove(sandbox, sandbox.record.reason ?? "unknown", true);
    });
  }

  /** Adopts a sandbox that an earlier server has left: asks `answerFor` and does what it says, but for removals, which are the caller's. */
  async adopt(record: SandboxRecord, handle: SandboxHandle | undefined): Promise<Answer> {
    const known = this.sandboxes.find(record.id);
    const sandbox = known ?? new Sandbox(record, this.parts.placement.nodeOf(record).driver, true);
    this.sandboxes.add(sandbox);
    return sandbox.queue.run(async () => {
      if (known && (!known.pending || known.stepsGivenUp > 0)) return { next: "keep" };
      const answer = await this.own.answerFor(this.partsOf(sandbox), sandbox.record, handle);
      await this.settle(sandbox, answer);
      return answer;
    });
  }

  private async settle(sandbox: Sandbox, answer: Answer): Promise<void> {
    sandbox.pending = answer.next === "later" || answer.next === "damaged" ? (sandbox.pending ?? "adoption") : undefined;
    if (answer.next === "running") this.reach.recovered(sandbox, answer.address);
    if (answer.next === "running" || answer.next === "paused") {
      const { next: state, change } = answer;
      if (state !== sandbox.state || change) await this.write(sandbox, { ...change, state }, { first: "memory", ignoresStore: true });
    }
    this.reach.follow(sandbox);
  }

  private async perform<Input, Context extends TransitionContext, Output>(
    sandbox: Sandbox,
    transition: Transition<Input, Context, Output>,
    input: Input,
    options: RunOptions,
  ): Promise<Output> {
    const parts = this.partsOf(sandbox);
    // Nothing has changed yet, so nothing has to be undone.
    if (transition.name !== this.own.kill.name && SETTLED.has(sandbox.state)) this.parts.permit?.check();
    const work = () => runTransition(parts, sandbox, transition, input, this.write, options);
    try {
      if (transition.needsRoom && sandbox.state === "paused") {
        const taken = await transition.memoryToTake?.({ parts, sandbox }, input);
        return await this.parts.admission.start(sandbox, work, taken);
      }
      return await work();
    } catch (error) {
      if (transition.onFailure === "remove") await this.remove(sandbox, "create_failed").catch(() => {});
      if (transition.onFailure === "retry") sandbox.retryAt = this.parts.clock.monotonic() + RETRY_MS;
      throw error;
    }
  }

  /** What the steps of a transition of this sandbox work with. */
  private partsOf({ driver }: Sandbox): EngineParts {
    return { ...this.parts, driver };
  }

  private async remove(sandbox: Sandbox, cause: EndCause, hasIntent = false): Promise<void> {
    await this.perform(sandbox, this.own.kill, { cause }, { hasIntent });
  }

  /**
   * Resumes a paused sandbox for a request. Returns the refusal when the machine has no room for the sandbox, or as many sandboxes run as may.
   * Does nothing when the sandbox runs by the time of its turn, or was paused without its memory meanwhile.
   */
  private wake(sandbox: Sandbox): Promise<AppError | undefined> {
    return sandbox.queue.run(async () => {
      if (sandbox.state !== "paused" || !mayWake(sandbox.record) || this.isClosed) return;
      const timeoutMs = Math.max(sandbox.record.facts.timeoutMs, LEAST_WAKE_MS);
      try {
        await this.parts.admission.holdPlace(sandbox, () => this.perform(sandbox, this.own.resume, { timeoutMs, memory: true }, {}));
      } catch (error) {
        // The transition logs the error, and the sandbox stays paused.
        return isNoRoom(error) || isNoPlace(error) ? error : undefined;
      }
    });
  }

  private readonly write = async (sandbox: Sandbox, change: AnyChange, { first, ignoresStore }: WriteHow): Promise<void> => {
    const before = sandbox.record;
    if (first === "memory") this.changeMemory(sandbox, change);
    try {
      await this.store(sandbox, change, before);
    } catch (error) {
      if (ignoresStore) this.parts.events.storeFailed(sandbox.id, error);
      else {
        if (first === "memory") {
          sandbox.record = before;
          this.reach.follow(sandbox);
        }
        throw error;
      }
    }
    if (first === "store") this.changeMemory(sandbox, change);
  };

  private changeMemory(sandbox: Sandbox, change: AnyChange): void {
    sandbox.change(change);
    if (sandbox.isEnding) this.sandboxes.names.ended(sandbox);
    this.reach.follow(sandbox);
    if (sandbox.state === "dead") this.sandboxes.remove(sandbox.id);
  }

  private async store(sandbox: Sandbox, change: AnyChange, before: SandboxRecord): Promise<void> {
    const { store } = this.parts;
    const { storedStates } = sandbox;
    if (storedStates === undefined) {
      // The store may have the record even when this fails: the answer can get lost.
      sandbox.storedStates = [sandbox.record.state];
      return store.insertSandbox(sandbox.record);
    }
    if ("teamId" in change) {
      if (await store.takeFromPool({ ...before, ...change })) return;
      throw recordLost();
    }
    const to = change.state === undefined ? [] : [change.state];
    const done = await store.updateSandbox(sandbox.id, storedStates, change, before).catch((error: unknown) => {
      sandbox.storedStates = [...new Set([...storedStates, ...to])];
      throw error;
    });
    if (to.length > 0) sandbox.storedStates = to;
    // A sandbox that is being removed may have no record, because the insertion failed.
    if (!done && !sandbox.isEnding) throw recordLost();
  }
}

const recordLost = () => new AppError("internal", "The store has no record of the sandbox", { reason: "record_lost" });

type AnyChange = SandboxChange | TakenChange;

/** Runs a transition within a turn that the caller holds. Throws `aborted` (reason `wrong_state`) if it may not begin in the present state. */
export type RunInTurn = <Input, Context extends TransitionContext, Output>(
  transition: Transition<Input, Context, Output>,
  input: Input,
  options?: RunOptions,
) => Promise<Output>;

function wrongState({ id, state }: Sandbox): AppError {
  return new AppError("aborted", `Sandbox '${id}' is in state '${state}'`, { reason: "wrong_state", details: { state } });
}
