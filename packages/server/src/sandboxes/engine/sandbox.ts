import { AppError, assertMove, type SandboxState, SerialQueue } from "@boxyard/core";
import type { AgentAddress, SandboxDriver, SandboxHandle } from "@boxyard/driver";
import type { SandboxChange, SandboxRecord, TakenChange } from "../../store/index.ts";

/** One start of a sandbox: its processes, and the address of its agent. A resume replaces the incarnation by a new one. */
export class Incarnation {
  readonly handle: SandboxHandle;
  /** Set as soon as the agent can be reached. */
  address: AgentAddress | undefined;
  /** True while its end is watched, and requests are routed to it if a user owns the sandbox. */
  isReachable = false;
  isRouted = false;
  private readonly ending = new AbortController();

  constructor(handle: SandboxHandle) {
    this.handle = handle;
  }

  /** Aborts when this incarnation has ended, or this server shuts down. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  end(): void {
    this.ending.abort();
  }
}

/**
 * A sandbox that is not dead: its record, its current incarnation, and the queue in which its transitions wait for their turn. The store has
 * the same record. Only the engine changes the two.
 */
export class Sandbox {
  /** Called after each change of what lists and limits know of the sandbox: its record, a claim of it, and what holds its place. */
  onChange: (() => void) | undefined;
  /** Undefined while no process of the sandbox runs: paused, or being removed. */
  incarnation: Incarnation | undefined;
  readonly queue = new SerialQueue();
  /**
   * The states that the store may hold: several after a write whose answer was lost, because the write may have taken place. Undefined before
   * the record is inserted.
   */
  storedStates: readonly SandboxState[] | undefined;
  /** Monotonic time before which a failed removal is not tried again. */
  retryAt = 0;
  /** How often its pause has failed since its time was over, and the end that the last try has set (`pause-at-end.ts`). */
  lateEnd: { readonly endAt: number; readonly tries: number } | undefined;
  /** Wall time before which it is not paused for idleness, because such a pause has failed. */
  idleRetryAt = 0;
  /**
   * Set as long as the sweep is to ask the driver what has become of the sandbox, and adopt it: after a restart, because the driver could not tell
   * (`adoption`); after a failed transition, because an undo action failed too (`undo`).
   */
  pending: "adoption" | "undo" | undefined;
  /** Steps of aborted transitions that were given up and have not ended yet. Until they have, the sandbox can only be removed. */
  stepsGivenUp = 0;
  /** Its agent knows already what it gets of the platform and the template (transition `warm`). */
  isRehearsed = false;
  /** The driver of its node. */
  readonly driver: SandboxDriver;
  private readonly waiting = new Set<() => void>();
  private readonly interruption = new AbortController();
  private current: SandboxRecord;
  private claimed: SandboxRecord | undefined;
  private placeHolders = 0;

  /** `isStored`: the record comes from the store; a new one is inserted by its first transition. */
  constructor(record: SandboxRecord, driver: SandboxDriver, isStored: boolean) {
    this.current = record;
    this.storedStates = isStored ? [record.state] : undefined;
    this.driver = driver;
  }

  get record(): SandboxRecord {
    return this.current;
  }

  set record(record: SandboxRecord) {
    this.current = record;
    this.onChange?.();
  }

  /** While a sandbox of the pool is being claimed: the record that it gets then. */
  get claim(): SandboxRecord | undefined {
    return this.claimed;
  }

  set claim(record: SandboxRecord | undefined) {
    this.claimed = record;
    this.onChange?.();
  }

  /** How much work runs for which the sandbox has a place also while it is paused (`Places.hold`). */
  get holders(): number {
    return this.placeHolders;
  }

  set holders(holders: number) {
    this.placeHolders = holders;
    this.onChange?.();
  }

  /** Whether it counts as one of those that run (`BOXYARD_MAX_SANDBOXES`). */
  get hasPlace(): boolean {
    return this.state !== "paused" || this.placeHolders > 0;
  }

  get id() {
    return this.current.id;
  }

  get state(): SandboxState {
    return this.record.state;
  }

  /** The record by which limits count the sandbox: a claim in progress counts as done. */
  get counted(): SandboxRecord {
    return this.claim ?? this.record;
  }

  /** True once its removal has begun. */
  get isEnding(): boolean {
    return this.state === "killing" || this.state === "dead";
  }

  /** How the driver finds the incarnation of the record. */
  get handle(): SandboxHandle {
    return { driver: this.driver.name, sandboxId: this.record.id, incarnation: this.record.incarnation };
  }

  /** Aborts when the sandbox is to be removed: a transition in progress stops and runs its undo actions. */
  get interrupted(): AbortSignal {
    return this.interruption.signal;
  }

  interrupt(): void {
    this.interruption.abort(new AppError("aborted", "The sandbox was ended meanwhile", { reason: "ended_meanwhile" }));
  }

  /** Changes the record in memory. Throws reason `illegal_move` for a move that the table of states does not allow. */
  change(change: SandboxChange | TakenChange): void {
    if (change.state !== undefined && change.state !== this.record.state) assertMove(this.record.state, change.state);
    this.record = { ...this.record, ...change };
    for (const wake of [...this.waiting]) wake();
  }

  /** Resolves at the next change of the record, or when the signal aborts. */
  nextChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      if (signal.aborted) return resolve();
      this.waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }
}

/** The address of the current incarnation. Throws before the step has run that finds the address out. */
export function addressOf({ id, incarnation }: Sandbox): AgentAddress {
  if (!incarnation?.address) throw new AppError("internal", `The address of sandbox ${id} is not known yet`, { reason: "no_address" });
  return incarnation.address;
}
