import { AppError, type Clock, isAppError, type SandboxId, sandboxNotFound, type TeamId } from "@boxyard/core";
import type { NewNamedSandbox } from "@boxyard/spec/platform";
import type { SandboxRecord } from "../../store/index.ts";
import { isSetupOver } from "../engine/ends.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { SandboxService } from "../service.ts";
import { visibleState } from "../visible-state.ts";

export interface NamedSandboxesParts {
  readonly engine: Engine;
  readonly sandboxes: Pick<SandboxService, "create" | "connect" | "checkTimeout">;
  readonly clock: Clock;
}

/** How the caller got the sandbox. `created`: it made the sandbox, and prepares it if it said so. */
export type NamedOutcome = "created" | "resumed" | "running";

export interface SetupStep {
  readonly creator: string;
  readonly leaseSeconds: number;
  /** The sandbox is ready for others. */
  readonly done: boolean;
}

/** Longest wait of a request for another's create or set-up; clients ask again after that. */
const WAIT_MS = 25_000;
/** Longer than a create with its wait for its turn: the time of a claim begins with the answer. */
const MAKING_MS = 120_000;

/**
 * Sandboxes by their names. Of all callers that ask for one name at once, one makes the sandbox, and prepares it if it says so; the others wait. Its
 * claim is in the sandbox's record, and expires: then the sandbox, which may be half prepared, is removed, and the next caller makes another.
 */
export class NamedSandboxes {
  private readonly parts: NamedSandboxesParts;
  /** Creates in progress here, by team and name, until the engine knows the sandbox or the create has failed. */
  private readonly making = new Map<string, Promise<unknown>>();

  constructor(parts: NamedSandboxesParts) {
    this.parts = parts;
  }

  /** The id of the team's sandbox of this name that clients can see. Throws `not_found`. */
  idOf(teamId: TeamId, name: string): SandboxId {
    const sandbox = this.parts.engine.sandboxes.names.holder(teamId, name);
    if (!sandbox || visibleState(sandbox.state) === undefined) throw sandboxNotFound(name);
    return sandbox.id;
  }

  /**
   * The sandbox of this name: resumed if it is paused, made if there is none. Its end moves as `connect` says. The request counts for a create only.
   * Throws what a create and a resume throw, and `unavailable`, reason `sandbox_in_setup`, when another caller has prepared it for too long.
   */
  async getOrCreate(teamId: TeamId, name: string, body: NewNamedSandbox, caller: AbortSignal) {
    const { engine, sandboxes, clock } = this.parts;
    sandboxes.checkTimeout(teamId, body.timeout);
    const waitUntil = clock.monotonic() + WAIT_MS;
    for (;;) {
      if (caller.aborted) throw new AppError("canceled", "The client has gone", { reason: "client_gone" });
      const sandbox = engine.sandboxes.names.holder(teamId, name);
      const seen = sandbox?.record;
      const found = sandbox ? await this.use(sandbox, body) : await this.make(teamId, name, body, caller);
      if (found) return found;
      if (clock.monotonic() >= waitUntil) throw inSetup(name);
      if (sandbox && sandbox.record === seen && !sandbox.isEnding) await this.change(sandbox, waitUntil, caller);
    }
  }

  /** Renews or ends the claim of the client that prepares a sandbox. Repeatable. Throws `not_found`; `failed_precondition`, reason `setup_lost`. */
  async setUp(teamId: TeamId, id: SandboxId, { creator, leaseSeconds, done }: SetupStep): Promise<void> {
    const { engine, clock } = this.parts;
    await engine.amend(engine.sandboxes.visibleOf(teamId, id), ({ settings }) => {
      const { setup, ...others } = settings;
      // The answer to an earlier `done` was lost.
      if (!setup && done) return {};
      if (setup?.creator !== creator) {
        throw new AppError("failed_precondition", `Sandbox ${id} is not being prepared by this client`, { reason: "setup_lost" });
      }
      return { settings: done ? others : { ...others, setup: { creator, until: clock.now() + leaseSeconds * 1000 } } };
    });
  }

  /** Gives a sandbox another name; an empty one is none. Throws `not_found`; `already_exists`, reason `sandbox_name_taken`. */
  async rename(teamId: TeamId, id: SandboxId, name: string): Promise<SandboxRecord> {
    const { engine } = this.parts;
    const sandbox = engine.sandboxes.visibleOf(teamId, id);
    const { names } = engine.sandboxes;
    const wanted = name === "" ? undefined : name;
    let before: string | undefined;
    try {
      const record = await engine.amend(sandbox, (now) => {
        before = now.name;
        if (wanted !== undefined) names.take(sandbox, wanted);
        return wanted === before ? {} : { name: wanted };
      });
      if (before !== undefined && before !== wanted) names.free(sandbox, before);
      return record;
    } catch (error) {
      if (wanted !== undefined && sandbox.record.name !== wanted) names.free(sandbox, wanted);
      throw error;
    }
  }

  /** Undefined: it is to be looked at again after its next change, or it is gone. */
  private async use(sandbox: Sandbox, body: NewNamedSandbox): Promise<Found | undefined> {
    const { sandboxes, engine, clock } = this.parts;
    if (visibleState(sandbox.state) === undefined) return undefined;
    const { setup } = sandbox.record.settings;
    const { teamId, id } = sandbox.record;
    if (setup) {
      if (isSetupOver(sandbox.record, clock.now())) await engine.end(sandbox, "setup_abandoned").catch(() => {});
      else if (setup.creator === body.setup?.creator) return this.begun(sandbox, body.setup);
      return undefined;
    }
    try {
      const { record, isResumed } = await sandboxes.connect(teamId, id, { seconds: body.timeout, memory: true });
      return { record, outcome: isResumed ? "resumed" : "running" };
    } catch (error) {
      // It has ended meanwhile.
      if (isAppError(error, "sandbox_not_found") || isAppError(error, "sandbox_replaced")) return undefined;
      throw error;
    }
  }

  /** Makes the sandbox. Undefined: another caller was first. */
  private async make(teamId: TeamId, name: string, body: NewNamedSandbox, caller: AbortSignal): Promise<Found | undefined> {
    const key = `${teamId}/${name}`;
    const other = this.making.get(key);
    if (other) {
      await Promise.race([other, aborted(caller)]);
      return undefined;
    }
    const { sandboxes, clock, engine } = this.parts;
    const { setup, ...wanted } = body;
    const claim = setup && { creator: setup.creator, until: clock.now() + MAKING_MS + setup.leaseSeconds * 1000 };
    const made = sandboxes.create(teamId, { ...wanted, name }, { version: "named", signal: caller, setup: claim });
    const settled = made.then(
      () => {},
      () => {},
    );
    this.making.set(key, settled);
    try {
      const record = await made;
      const sandbox = setup && engine.sandboxes.find(record.id);
      return sandbox ? await this.begun(sandbox, setup) : { record, outcome: "created" };
    } catch (error) {
      // A plain create was first.
      if (isAppError(error, "sandbox_name_taken") && engine.sandboxes.names.holder(teamId, name)) return undefined;
      throw error;
    } finally {
      this.making.delete(key);
    }
  }

  /** The time of the claim begins with the answer. */
  private async begun(sandbox: Sandbox, setup: NonNullable<NewNamedSandbox["setup"]>): Promise<Found> {
    await this.setUp(sandbox.record.teamId, sandbox.id, { ...setup, done: false });
    return { record: sandbox.record, outcome: "created" };
  }

  private async change(sandbox: Sandbox, waitUntil: number, caller: AbortSignal): Promise<void> {
    const { clock } = this.parts;
    const over = new AbortController();
    const until = Math.min(waitUntil - clock.monotonic(), (sandbox.record.settings.setup?.until ?? Infinity) - clock.now());
    void clock.sleep(Math.max(0, until), over.signal).then(
      () => over.abort(),
      () => {},
    );
    await sandbox.nextChange(AbortSignal.any([caller, over.signal]));
    over.abort();
  }
}

interface Found {
  readonly record: SandboxRecord;
  readonly outcome: NamedOutcome;
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

const inSetup = (name: string) =>
  new AppError("unavailable", `Another client is still making or preparing the sandbox '${name}'; ask again`, {
    reason: "sandbox_in_setup",
    details: { retryAfter: 1, shouldRetry: true },
  });
