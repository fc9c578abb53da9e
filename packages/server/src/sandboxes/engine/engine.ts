import { AppError, type SandboxId } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import type { EndCause, SandboxChange, SandboxRecord } from "../../store/index.ts";
import { isNoRoom } from "../create/capacity-gate.ts";
import { sandboxNotFound } from "../problems.ts";
import { type Answer, answerFor } from "../transitions/adopt.ts";
import { kill } from "../transitions/kill.ts";
import { pause } from "../transitions/pause.ts";
import { resume } from "../transitions/resume.ts";
import { LivingSandboxes } from "./living.ts";
import type { EngineParts } from "./parts.ts";
import { mayWake, Reach } from "./reach.ts";
import { type RunOptions, runTransition, type WriteHow } from "./run.ts";
import { type Incarnation, Sandbox } from "./sandbox.ts";
import type { Transition, TransitionContext } from "./transition.ts";

const RETRY_MS = 5000;
/** A sandbox that a request has resumed lives as long as was asked for at its create, and at least so long. */
const LEAST_WAKE_MS = 300_000;
/** How much longer a sandbox lives that could not be paused when its time was over. */
const PAUSE_RETRY_MS = 30_000;

/**
 * Changes sandboxes: every change of a state is a `Transition`, run in the sandbox's turn, one at a time. Memory and store hold the same
 * record; the store is written before the deed (what is intended) and after it (what came of it).
 */
export class Engine {
  readonly sandboxes = new LivingSandboxes();
  private readonly parts: EngineParts;
  private readonly reach: Reach;
  private isClosed = false;

  constructor(parts: EngineParts) {
    this.parts = parts;
    this.reach = new Reach(parts, {
      due: (id) => void this.onDue(id),
      wanted: (sandbox) => this.wake(sandbox),
      ended: (sandbox, incarnation, cause) => this.end(sandbox, cause, incarnation),
    });
  }

  start(): void {
    this.reach.start();
  }

  /** Releases everything that it holds; sandboxes go on without this server. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.reach.stop();
    for (const sandbox of this.sandboxes.all()) sandbox.incarnation?.end();
  }

  /** Makes the aggregate of a new sandbox, which counts from now on; `make` is to be called next. */
  add(record: SandboxRecord): Sandbox {
    if (this.isClosed) throw new AppError("unavailable", "The server is shutting down", { reason: "shutting_down" });
    const sandbox = new Sandbox(record, this.parts.driver.name, false);
    this.sandboxes.add(sandbox);
    return sandbox;
  }

  /** Runs the transition that makes a sandbox. When it throws, nothing is left of the sandbox, or the sweep removes it. */
  async make<Input, Context extends TransitionContext>(
    sandbox: Sandbox,
    transition: Transition<Input, Context>,
    input: Input,
    options: RunOptions = {},
  ): Promise<SandboxRecord> {
    return sandbox.queue.run(() => this.perform(sandbox, transition, input, options));
  }

  /** Runs a transition when it is the sandbox's turn. Throws `not_found`, or `wrong_state` if it may not begin in the state found then. */
  async run<Input, Context extends TransitionContext>(
    sandbox: Sandbox,
    transition: Transition<Input, Context>,
    input: Input,
    options: RunOptions = {},
  ): Promise<SandboxRecord> {
    return sandbox.queue.run(() => {
      if (sandbox.isEnding) throw sandboxNotFound(sandbox.id);
      if (!(transition.from as readonly string[]).includes(sandbox.state)) throw wrongState(sandbox);
      return this.perform(sandbox, transition, input, options);
    });
  }

  /** Runs several transitions in one turn: nothing else happens to the sandbox between them. Throws `not_found`. */
  async inTurn<T>(sandbox: Sandbox, work: (run: RunInTurn) => Promise<T>): Promise<T> {
    return sandbox.queue.run(() => {
      if (sandbox.isEnding) throw sandboxNotFound(sandbox.id);
      return work((transition, input, options = {}) => {
        if (!transition.from.includes(sandbox.state as never)) throw wrongState(sandbox);
        return this.perform(sandbox, transition, input, options);
      });
    });
  }

  /** Works on a running sandbox in its turn: nothing else happens to it meanwhile. Throws `not_found`, or `wrong_state` if it does not run then. */
  async whileRunning<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    return sandbox.queue.run(async () => {
      if (sandbox.isEnding) throw sandboxNotFound(sandbox.id);
      if (sandbox.state !== "running") throw wrongState(sandbox);
      return work();
    });
  }

  /** Changes the record of a sandbox without a move; only in its turn. */
  async change(sandbox: Sandbox, change: Omit<SandboxChange, "state">): Promise<void> {
    await this.write(sandbox, change, { first: "store" });
  }

  /** Removes a sandbox, whatever it is doing. Repeatable. Throws when the driver could not remove it; the sweep tries again. */
  async end(sandbox: Sandbox, cause: EndCause, only?: Incarnation): Promise<void> {
    // A transition in progress gives up, and undoes what it did; then it is the removal's turn.
    if (cause === "requested") sandbox.interrupt();
    await sandbox.queue.run(async () => {
      if (sandbox.isEnding || (only && sandbox.incarnation !== only)) return;
      // Its time may have been moved while this waited for its turn.
      if (cause === "timeout" && (sandbox.state !== "running" || sandbox.record.endAt > this.parts.clock.now()))
        return this.reach.follow(sandbox);
      await this.remove(sandbox, cause);
    });
  }

  /** Tries the removal of what an earlier try has left. */
  async retryRemoval(sandbox: Sandbox): Promise<void> {
    if (sandbox.state !== "killing" || sandbox.retryAt > this.parts.clock.monotonic()) return;
    await sandbox.queue.run(async () => {
      if (sandbox.state === "killing") await this.remove(sandbox, sandbox.record.reason ?? "unknown", true);
    });
  }

  /** Deals with a sandbox that an earlier server has left, as `ANSWERS` says. */
  async adopt(record: SandboxRecord, handle: SandboxHandle | undefined): Promise<Answer> {
    const known = this.sandboxes.find(record.id);
    const sandbox = known ?? new Sandbox(record, this.parts.driver.name, true);
    this.sandboxes.add(sandbox);
    return sandbox.queue.run(async () => {
      if (known && !known.isAdoptionPending) return { next: "keep" };
      const answer = await answerFor(this.parts, sandbox.record, handle);
      await this.settle(sandbox, answer);
      return answer;
    });
  }

  private async settle(sandbox: Sandbox, answer: Answer): Promise<void> {
    sandbox.isAdoptionPending = answer.next === "later" || answer.next === "damaged";
    if (answer.next === "running") this.reach.recovered(sandbox, answer.address);
    if (answer.next === "running" || answer.next === "paused") {
      const { next: state, change } = answer;
      if (state !== sandbox.state) await this.write(sandbox, { ...change, state }, { first: "memory", ignoresStore: true });
    }
    this.reach.follow(sandbox);
  }

  private async perform<Input, Context extends TransitionContext>(
    sandbox: Sandbox,
    transition: Transition<Input, Context>,
    input: Input,
    options: RunOptions,
  ): Promise<SandboxRecord> {
    const work = () => runTransition(this.parts, sandbox, transition, input, this.write, options);
    try {
      if (transition.needsRoom && !options.hasRoom) {
        const taken = await transition.memoryToTake?.({ parts: this.parts, sandbox }, input);
        await this.parts.capacity.start(sandbox.record.facts.resources, work, taken);
      } else await work();
    } catch (error) {
      if (transition.onFailure === "remove") await this.remove(sandbox, "create_failed").catch(() => {});
      if (transition.onFailure === "retry") sandbox.retryAt = this.parts.clock.monotonic() + RETRY_MS;
      throw error;
    }
    return sandbox.record;
  }

  private async remove(sandbox: Sandbox, cause: EndCause, hasIntent = false): Promise<void> {
    await this.perform(sandbox, kill, { cause }, { hasIntent });
  }

  private async onDue(id: SandboxId): Promise<void> {
    const sandbox = this.sandboxes.find(id);
    if (!sandbox || this.isClosed) return;
    const { pauseAs } = sandbox.record.settings.lifecycle ?? {};
    if (pauseAs === undefined) return this.end(sandbox, "timeout").catch(() => {});
    await this.pauseAtEnd(sandbox, pauseAs === "full");
  }

  /**
   * Resumes a paused sandbox for a request. Gives the refusal when there is no room for it. Does nothing when it runs by the time of its turn, or was
   * paused without its memory meanwhile.
   */
  private wake(sandbox: Sandbox): Promise<AppError | undefined> {
    return sandbox.queue.run(async () => {
      if (sandbox.state !== "paused" || !mayWake(sandbox.record) || this.isClosed) return;
      const timeoutMs = Math.max(sandbox.record.facts.timeoutMs, LEAST_WAKE_MS);
      try {
        await this.perform(sandbox, resume, { timeoutMs, memory: true }, {});
      } catch (error) {
        // What went wrong is logged by the transition, and it stays paused.
        return isNoRoom(error) ? error : undefined;
      }
    });
  }

  /** A sandbox that is to be paused is not killed because that fails: its time is prolonged a little, and it is tried again. */
  private async pauseAtEnd(sandbox: Sandbox, memory: boolean): Promise<void> {
    const isDue = () => sandbox.state === "running" && sandbox.record.endAt <= this.parts.clock.now();
    await sandbox.queue.run(async () => {
      if (!isDue()) return this.reach.follow(sandbox);
      try {
        await this.perform(sandbox, pause, { memory }, {});
      } catch {
        const endAt = this.parts.clock.now() + PAUSE_RETRY_MS;
        if (sandbox.state === "running") await this.write(sandbox, { endAt }, { first: "memory", ignoresStore: true });
      }
    });
  }

  private readonly write = async (sandbox: Sandbox, change: SandboxChange, { first, ignoresStore }: WriteHow): Promise<void> => {
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

  private changeMemory(sandbox: Sandbox, change: SandboxChange): void {
    sandbox.change(change);
    this.reach.follow(sandbox);
    if (sandbox.state === "dead") this.sandboxes.remove(sandbox.id);
  }

  private async store(sandbox: Sandbox, change: SandboxChange, before: SandboxRecord): Promise<void> {
    const { store } = this.parts;
    const { storedStates } = sandbox;
    if (storedStates === undefined) {
      // Even when this fails the record may be there: the answer can get lost.
      sandbox.storedStates = [sandbox.record.state];
      return store.insertSandbox(sandbox.record);
    }
    const to = change.state === undefined ? [] : [change.state];
    const done = await store.updateSandbox(sandbox.id, storedStates, change, before).catch((error: unknown) => {
      sandbox.storedStates = [...new Set([...storedStates, ...to])];
      throw error;
    });
    if (to.length > 0) sandbox.storedStates = to;
    // What is being removed may have no record: its insertion failed.
    if (!done && !sandbox.isEnding) {
      throw new AppError("internal", "The store has no record of the sandbox", { reason: "record_lost" });
    }
  }
}

/** Runs a transition within a turn that is held already. Throws `wrong_state` if it may not begin now. */
export type RunInTurn = <Input, Context extends TransitionContext>(
  transition: Transition<Input, Context>,
  input: Input,
  options?: RunOptions,
) => Promise<SandboxRecord>;

function wrongState({ id, state }: Sandbox): AppError {
  return new AppError("aborted", `Sandbox '${id}' is in state '${state}'`, { reason: "wrong_state", details: { state } });
}
