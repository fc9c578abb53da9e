import { AppError, type Clock, isAppError, newSandboxId, type SandboxId, type SandboxState, type TeamId } from "@boxyard/core";
import type { SandboxDriver } from "@boxyard/driver";
import type { NewSandbox } from "@boxyard/spec/platform";
import type { GuestLog } from "../logs/guest-log.ts";
import type { RouteTable } from "../proxy/route-table.ts";
import { environmentOf } from "../secrets/environment.ts";
import type { TeamSecrets } from "../secrets/team-secrets.ts";
import { isStoreFault, type SandboxRecord, type Setup, type Store, type TemplateSpec } from "../store/index.ts";
import { volumesOfCreate } from "../volumes/mounts.ts";
import type { Volumes } from "../volumes/volumes.ts";
import type { Admission } from "./create/admission.ts";
import { madeOnce, makeSandboxOnce } from "./create/create-once.ts";
import { checkTimeout, toCreateSandbox } from "./create/create-request.ts";
import { makeSandbox, unlessGone } from "./create/maker.ts";
import { newRecord } from "./create/new-record.ts";
import { checkSize, mostOfMachine, OF_TEMPLATE } from "./create/size.ts";
import type { DriverPolicies } from "./egress/driver-policies.ts";
import { type EgressWish, parseEgress } from "./egress/egress-request.ts";
import type { NetworkPresets } from "./egress/presets.ts";
import type { Engine } from "./engine/engine.ts";
import type { Operations } from "./engine/operations.ts";
import type { ResumeInput } from "./engine/own-transitions.ts";
import type { Sandbox } from "./engine/sandbox.ts";
import { pageOf, type SandboxPage, type SandboxQuery } from "./listing.ts";
import type { SnapshotNotes, TemplateSource } from "./ports.ts";
import { removalFailure, sandboxNotFound } from "./problems.ts";
import type { CreateTemplate } from "./transitions/create.ts";
import { pause, pauseFailure } from "./transitions/pause.ts";
import { resume, resumeFailure } from "./transitions/resume.ts";
import { setEgress } from "./transitions/set-egress.ts";
import { setEnd } from "./transitions/set-end.ts";
import { visibleState } from "./visible-state.ts";
import type { WarmPool } from "./warm/warm-pool.ts";

export interface SandboxServiceParts {
  readonly engine: Engine;
  readonly routes: Pick<RouteTable, "find">;
  readonly admission: Admission;
  readonly operations: Operations;
  readonly templates: TemplateSource;
  readonly volumes: Volumes;
  readonly warm: WarmPool;
  readonly snapshotCatalog: Pick<SnapshotNotes, "envOf">;
  readonly secrets: Pick<TeamSecrets, "value">;
  readonly policies: Pick<DriverPolicies, "check">;
  readonly presets: NetworkPresets;
  readonly store: Store;
  readonly driver: Pick<SandboxDriver, "capacity">;
  readonly clock: Clock;
  readonly guests: Pick<GuestLog, "catchUp">;
  /** The longest lifetime that a team may ask for, in hours. */
  readonly maxHoursOf: (teamId: TeamId) => number;
  /** Whether templates start from the memory that their builds have kept. */
  readonly startsFromMemory: boolean;
}

export interface CreateOptions {
  /** Version of the API: one idempotency key may not be used for requests of two versions. */
  readonly version: string;
  readonly idempotencyKey?: string | undefined;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** The caller prepares the sandbox before others get it by its name. */
  readonly setup?: Setup | undefined;
}

export interface ResumeWish {
  /** Lifetime from now on. */
  readonly seconds: number;
  /** False: boot from the disk, whatever was kept. */
  readonly memory: boolean;
}

/** How often a connect starts again when the sandbox's state has changed before its turn. */
const CONNECT_TRIES = 3;
const LEAST_REFRESH_SECONDS = 15;
/** How long a removal waits for what the agent can still say of its commands. */
const LAST_WORDS_MS = 1000;

/**
 * What a team does with its sandboxes: the HTTP handlers call this, and any later front would. Sandboxes of other teams are `not_found`.
 */
export class SandboxService {
  private readonly parts: SandboxServiceParts;
  /** Driver's names of started snapshots that failed and are not tried again; undefined when no template starts from memory. */
  private readonly brokenImages: Set<string> | undefined;

  constructor(parts: SandboxServiceParts) {
    this.parts = parts;
    this.brokenImages = parts.startsFromMemory ? new Set() : undefined;
  }

  /** Makes a sandbox and returns when it runs. When this throws, the sandbox is removed, or the sweep removes it. */
  async create(teamId: TeamId, body: NewSandbox, { version: api, idempotencyKey, signal, setup }: CreateOptions): Promise<SandboxRecord> {
    const { templates, snapshotCatalog, admission, store, clock, maxHoursOf, warm, presets } = this.parts;
    const version = templates.resolve(teamId, body.templateID);
    const rules = { template: version, maxTimeoutHours: maxHoursOf(teamId), egressOf: (wish: EgressWish) => parseEgress(wish, presets) };
    const asked = toCreateSandbox(body, teamId, rules);
    const ofTemplate = templates.settingsOf(version.templateId);
    if (asked.size) checkSize(asked.size, ofTemplate.maxResources ?? {}, OF_TEMPLATE);
    if (asked.size) checkSize(asked.size, await mostOfMachine(this.parts.driver));
    await this.parts.policies.check(teamId, asked.settings);
    const idle = asked.settings.idleMs === undefined && ofTemplate.idleTimeout ? { idleMs: ofTemplate.idleTimeout * 1000 } : {};
    const volumes = await volumesOfCreate(this.parts.volumes, teamId, body.volumeMounts, version);
    const settings = { ...asked.settings, ...idle, ...(setup && { setup }) };
    const source = { ...version, inherited: snapshotCatalog.envOf(version.spec) };
    const wanted = { ...asked, settings, volumes, ...(await environmentOf(this.parts.secrets, teamId, body, source)) };
    // The memory that a build has kept is of a sandbox without volumes.
    const images = volumes.length === 0 ? this.brokenImages : undefined;
    // With a key the client may ask again for the answer, so a lost connection does not abort the create.
    const caring = idempotencyKey === undefined ? signal : new AbortController().signal;
    const input = createInput(version.spec, images);
    const makeIt = idempotencyKey !== undefined || body.name !== undefined ? makeSandboxOnce : makeSandbox;
    using _working = warm.working();
    const reserved = warm.reserve(newRecord(newSandboxId(), wanted, clock.now()), input, idempotencyKey);
    const make = async (id: SandboxId, renew: () => Promise<SandboxId>) => {
      const made = reserved && (await unlessGone(makeSandbox(this.parts, newRecord(id, wanted, clock.now()), input, caring, reserved)));
      if (made) return made;
      return makeIt(this.parts, newRecord(reserved ? await renew() : id, wanted, clock.now()), input, caring);
    };
    try {
      return await admission.once({
        ...{ teamId, key: idempotencyKey, request: { version: api, body }, id: reserved?.id, make },
        recall: (id) => madeOnce(store, id, { teamId, key: idempotencyKey }),
      });
    } finally {
      reserved?.giveBack();
    }
  }

  /** A sandbox that clients can see. Throws `not_found`. */
  get(teamId: TeamId, id: SandboxId): SandboxRecord {
    return this.visible(teamId, id).record;
  }

  /** A page of a team's sandboxes that match `query`. */
  list(teamId: TeamId, query: SandboxQuery): SandboxPage {
    const { engine, templates } = this.parts;
    return pageOf(engine.sandboxes.order.of(teamId), query, (template) => templates.idsFor(template));
  }

  /** Checks the lifetime that a request asks for; to be called before the sandbox is looked up. Throws `invalid_argument` when it is above the limit. */
  checkTimeout(teamId: TeamId, seconds: number): void {
    checkTimeout(seconds, this.parts.maxHoursOf(teamId));
  }

  /**
   * Gives access to a sandbox. The end of a running sandbox moves to now + `seconds` if that is later; a paused sandbox is resumed and lives so
   * long. While a sandbox pauses or resumes, this waits for the end of that. Throws `not_found`, `resource_exhausted`, `unavailable`.
   */
  async connect(teamId: TeamId, id: SandboxId, { seconds, memory }: ResumeWish): Promise<{ record: SandboxRecord; isResumed: boolean }> {
    for (let tries = 0; ; tries++) {
      const sandbox = this.own(teamId, id);
      const isUp = visibleState(sandbox.state) !== "paused" && sandbox.state !== "pausing";
      try {
        if (isUp) return { record: await this.extend(teamId, id, seconds), isResumed: false };
        return { record: await this.runResume(sandbox, { timeoutMs: seconds * 1000, memory }), isResumed: true };
      } catch (error) {
        // The state has changed before the sandbox's turn.
        if (tries < CONNECT_TRIES && isWrongState(error)) continue;
        throw error;
      }
    }
  }

  /**
   * Resumes a paused sandbox. Of several calls at once one resumes it; the others succeed too, and move its end as `connect` does. Throws `not_found`;
   * `aborted`, reason `already_running`, for a sandbox that ran when the call came; `resource_exhausted`; `unavailable`.
   */
  async resume(teamId: TeamId, id: SandboxId, { seconds, memory }: ResumeWish): Promise<SandboxRecord> {
    const sandbox = this.visible(teamId, id);
    const wasPaused = visibleState(sandbox.state) === "paused";
    try {
      return await this.runResume(sandbox, { timeoutMs: seconds * 1000, memory });
    } catch (error) {
      if (!isWrongState(error)) throw error;
      if (wasPaused && sandbox.state === "running") return this.extend(teamId, id, seconds);
      throw new AppError("aborted", `Sandbox ${id} is already running`, { reason: "already_running", cause: error });
    }
  }

  /**
   * Pauses a running sandbox. Of several calls at once one pauses it, with or without memory as that call says; the others succeed too. When the pause
   * fails the sandbox runs on: `unavailable`, reason `pause_failed`. Throws `not_found`, `unimplemented`, and `aborted` for a sandbox that was paused
   * when the call came.
   */
  async pause(teamId: TeamId, id: SandboxId, memory: boolean): Promise<void> {
    const sandbox = this.visible(teamId, id);
    if (sandbox.driver.capabilities.checkpoint === "none") throw cannotHere("Sandboxes cannot be paused on this server", "no_checkpoint");
    const wasPaused = sandbox.state === "paused";
    try {
      await this.parts.engine.run(sandbox, pause, { memory });
    } catch (error) {
      // Paused by another call. `pausing` in its own turn is a pause that failed and could not be undone.
      if (isWrongState(error) && !wasPaused && error.details.state === "paused") return;
      if (isWrongState(error)) throw cannotPause(id, String(error.details.state));
      throw pauseFailure(error, sandbox.state);
    }
  }

  private async runResume(sandbox: Sandbox, input: ResumeInput): Promise<SandboxRecord> {
    const { admission, engine } = this.parts;
    return admission.holdPlace(sandbox, () =>
      engine.run(sandbox, resume, input).catch((error: unknown) => {
        throw isWrongState(error) ? error : resumeFailure(sandbox.record, error, input.memory);
      }),
    );
  }

  /** Moves the end to now + `seconds`, which may be earlier than before. Negative counts as 0. Throws `not_found`. */
  setTimeout(teamId: TeamId, id: SandboxId, seconds: number): Promise<SandboxRecord> {
    return this.moveEnd(teamId, id, () => this.parts.clock.now() + Math.max(0, seconds * 1000));
  }

  /** Moves the end to now + `seconds`, 15 s at least, if that is later. */
  refresh(teamId: TeamId, id: SandboxId, seconds: number): Promise<SandboxRecord> {
    return this.extend(teamId, id, Math.max(LEAST_REFRESH_SECONDS, seconds));
  }

  /** Moves the end to now + `seconds` if that is later. Throws `not_found`. */
  private extend(teamId: TeamId, id: SandboxId, seconds: number): Promise<SandboxRecord> {
    return this.moveEnd(teamId, id, (endAt) => Math.max(endAt, this.parts.clock.now() + seconds * 1000));
  }

  /** Ends or pauses the sandbox when nothing has used it for so many seconds from now on; 0: never. Throws `not_found`, `invalid_argument`. */
  async setIdleTimeout(teamId: TeamId, id: SandboxId, seconds: number): Promise<void> {
    const { engine, maxHoursOf, routes } = this.parts;
    checkTimeout(seconds, maxHoursOf(teamId), "idleTimeout");
    const sandbox = this.visible(teamId, id);
    routes.find(id)?.flights.touch();
    await engine.amend(sandbox, ({ settings: { idleMs: _, ...others } }) => ({
      settings: { ...others, ...(seconds > 0 && { idleMs: seconds * 1000 }) },
    }));
  }

  /**
   * Removes a sandbox, whatever its state. Throws `not_found` also if the removal has begun already. A store that does not answer does not stop
   * this: the sandbox is removed, and the sweep writes the result when the store answers again.
   */
  async kill(teamId: TeamId, id: SandboxId): Promise<void> {
    const sandbox = this.own(teamId, id);
    if (sandbox.isEnding) throw sandboxNotFound(id);
    await this.parts.guests.catchUp(sandbox, LAST_WORDS_MS);
    await this.parts.engine.end(sandbox, "requested").catch((error: unknown) => {
      // Only the write of the result fails with the store's reasons, and the driver has removed the sandbox by then.
      if (!isStoreFault(error)) throw removalFailure(error);
    });
  }

  /**
   * Replaces the egress rules of a running sandbox, at once. When that fails, the rules are as before; but if the store's answer was lost, a
   * server that adopts the sandbox may find the new rules in the store and enforce them. Throws `not_found`, `aborted`, `unimplemented`.
   */
  async setEgress(teamId: TeamId, id: SandboxId, wish: EgressWish): Promise<void> {
    const egress = parseEgress(wish, this.parts.presets);
    const sandbox = this.visible(teamId, id);
    if (!sandbox.driver.capabilities.network)
      throw cannotHere("The network of a running sandbox cannot be changed on this server", "fixed_network");
    await this.parts.policies.check(teamId, egress);
    await this.parts.engine.run(sandbox, setEgress, egress);
  }

  /** Throws `not_found` also for a paused sandbox, which has no end. */
  private async moveEnd(teamId: TeamId, id: SandboxId, to: (endAt: number) => number): Promise<SandboxRecord> {
    if (this.own(teamId, id).state === "paused") throw sandboxNotFound(id);
    return this.parts.engine.run(this.visible(teamId, id), setEnd, { to });
  }

  /** A sandbox of the team that clients can see. Throws `not_found`. */
  private visible(teamId: TeamId, id: SandboxId): Sandbox {
    return this.parts.engine.sandboxes.visibleOf(teamId, id);
  }

  /** A sandbox of the team in any state. Throws `not_found`. */
  private own(teamId: TeamId, id: SandboxId): Sandbox {
    return this.parts.engine.sandboxes.ownOf(teamId, id);
  }
}

/** The state had changed before the sandbox's turn. */
const isWrongState = (error: unknown): error is AppError => isAppError(error, "wrong_state");

/** What a create takes of a template. `broken`: driver's names of started snapshots that are not used any more; undefined: none is used. */
function createInput(spec: TemplateSpec, broken: Set<string> | undefined): CreateTemplate {
  const { snapshot, started, ...template } = spec;
  if (snapshot) return { ...template, from: { snapshot: snapshot.id, memory: snapshot.memory } };
  if (started === undefined || !broken || broken.has(started)) return template;
  return { ...template, from: { snapshot: started, memory: true }, bootsInstead: () => broken.add(started) };
}

function cannotPause(id: SandboxId, state: string): AppError {
  const message =
    visibleState(state as SandboxState) === "paused"
      ? `Error pausing sandbox - sandbox '${id}' is already paused`
      : `Sandbox '${id}' cannot be paused while in '${state}' state`;
  return new AppError("aborted", message, { reason: "cannot_pause" });
}

/** The error for a verb for which this server's driver lacks the capability. */
const cannotHere = (message: string, reason: string) => new AppError("unimplemented", message, { reason });
