import type { Clock, TeamId } from "@boxyard/core";
import type { ResourceLimits } from "@boxyard/driver";
import type { Idempotency, Repeatable } from "../../idempotency.ts";
import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { Placement } from "../placement.ts";
import type { CapacityGate } from "./capacity-gate.ts";
import type { CreateGate } from "./create-gate.ts";
import { dated } from "./new-record.ts";
import type { Places } from "./places.ts";
import type { TeamQuota } from "./team-quota.ts";

export interface AdmissionParts {
  readonly idempotency: Pick<Idempotency, "run">;
  readonly turns: Pick<CreateGate, "run">;
  readonly placement: Pick<Placement, "place">;
  /** The room of the node that a record has. */
  readonly capacityOf: (record: SandboxRecord) => Pick<CapacityGate, "run" | "start">;
  readonly places: Pick<Places, "check" | "checkTeam" | "hold">;
  readonly quota: Pick<TeamQuota, "begin" | "beginsAgain" | "createsOf">;
  readonly clock: Clock;
}

/** A request for a new sandbox. */
interface Wanted {
  readonly record: SandboxRecord;
  /** Aborts when nobody waits for the sandbox any more. */
  readonly caller: AbortSignal;
  /** It is there already. */
  readonly isRunning: boolean;
  /** It is there already, with all its memory set aside. */
  readonly hasRoom: boolean;
}

interface Gate {
  /** Builds' sandboxes pass without it: builds have a queue of their own, and are not counted. */
  readonly isForUsersOnly: boolean;
  /** Calls `next` when the sandbox may pass, now or after a wait; throws when it may not. */
  pass<T>(wanted: Wanted, next: (wanted: Wanted) => Promise<T>): Promise<T>;
}

/** What a new sandbox passes, in order: each gate is asked when the one before lets it pass, and knows until the end of the create that it has passed. */
const gatesOf = ({ quota, turns, placement, capacityOf, places }: AdmissionParts): readonly Gate[] => [
  // 1. Its team: within its limits it may have one more, and begin one more. So a team that has met a limit does not wait for the answer.
  {
    isForUsersOnly: true,
    pass: async (wanted, next) => {
      places.check(wanted.record);
      quota.begin(wanted.record.teamId);
      return next(wanted);
    },
  },
  // 2. Its turn: so many creates are worked on at once, and others wait; the teams take turns.
  { isForUsersOnly: true, pass: (wanted, next) => turns.run(wanted.record.teamId, wanted.caller, () => next(wanted)) },
  // 3. A node, on which it will be.
  { isForUsersOnly: false, pass: (wanted, next) => next({ ...wanted, record: placement.place(wanted.record) }) },
  // 4. Room: the node has memory, disk and processes for it. Who waits for room keeps the turn, so the queue of turns is that of room too.
  {
    isForUsersOnly: false,
    pass: (wanted, next) => roomFor(capacityOf(wanted.record), wanted, () => next(wanted)),
  },
  // 5. A place: so many sandboxes of users may exist, and so many of its team. The sandbox is added in the same turn of the event loop, as the account of the room asks too.
  {
    isForUsersOnly: true,
    pass: async (wanted, next) => {
      places.check(wanted.record);
      return next(wanted);
    },
  },
];

/** The pool takes only room that is free, and waits for none; for anybody else it gives way. */
const roomFor = <T>(room: Pick<CapacityGate, "run">, { record, caller, isRunning, hasRoom }: Wanted, work: () => Promise<T>) =>
  room.run(record.facts.resources, work, caller, { isForPool: record.owner.kind === "pool", isRunning, hasRoom });

/**
 * Decides whether a sandbox may be made or resumed: the one front of everything that limits them. A create is first asked for under its key (`once`),
 * then passes the gates of `gatesOf` in their order (`create`). A resume needs a place (`holdPlace`) and room (`start`); it has had its turn.
 */
export class Admission {
  private readonly parts: AdmissionParts;
  private readonly gates: readonly Gate[];

  constructor(parts: AdmissionParts) {
    this.parts = parts;
    this.gates = gatesOf(parts);
  }

  /** Runs `make` of a create or a fork, or recalls its result if the client repeats the request under its key (`Idempotency`). */
  once<T>(work: Repeatable<T>): Promise<T> {
    return this.parts.idempotency.run(work);
  }

  /**
   * Runs `make` when the sandbox has passed every gate. `make` gets the record with the dates of that moment, and adds it to the engine before it first
   * waits. Throws `resource_exhausted` (too many wait, or exist), `unavailable` (too long a wait, or no room), what `make` throws. `isRunning`: the sandbox
   * exists; `hasRoom`: with all its memory set aside.
   */
  create<T>(
    record: SandboxRecord,
    caller: AbortSignal,
    make: (record: SandboxRecord) => Promise<T>,
    { isRunning = false, hasRoom = false } = {},
  ): Promise<T> {
    const isOfUser = record.owner.kind === "user";
    const admitted = (wanted: Wanted) => make(dated(wanted.record, this.parts.clock.now()));
    const gates = this.gates.filter(({ isForUsersOnly }) => isOfUser || !isForUsersOnly);
    return gates.reduceRight((next, gate) => (wanted: Wanted) => gate.pass(wanted, next), admitted)({ record, caller, isRunning, hasRoom });
  }

  /** To be called when nothing could be made, and the create will ask again: it counts once against the rate of its team. */
  asksAgain(teamId: TeamId): void {
    this.parts.quota.beginsAgain(teamId);
  }

  /** Creates of a team in the last minute, as they count against its limit. */
  createsOf(teamId: TeamId): number {
    return this.parts.quota.createsOf(teamId);
  }

  /** Throws `resource_exhausted` when such a sandbox of a user would get no place now: a fork asks before it captures anything. */
  checkPlace(wanted: SandboxRecord): void {
    this.parts.places.check(wanted);
  }

  /** Runs `work`, which resumes the sandbox: it has a place meanwhile. Throws `resource_exhausted` when there is none for it. */
  holdPlace<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    return this.parts.places.hold(sandbox, work);
  }

  /** Throws `resource_exhausted`, reason `team_limit`, when the team of a sandbox may not have it with these limits. */
  checkSize({ record }: Sandbox, resources: ResourceLimits): void {
    this.parts.places.checkTeam({ ...record, settings: { ...record.settings, resources } });
  }

  /** Runs `work`, which gives a running sandbox `more` than it has, when the machine has room for that (`CapacityGate.run`). */
  grow<T>(sandbox: Sandbox, more: ResourceLimits, work: () => Promise<T>): Promise<T> {
    return this.parts.capacityOf(sandbox.record).run(more, work);
  }

  /** Runs `work`, which starts a sandbox that exists, when the machine has room for it (`CapacityGate.start`). */
  start<T>(sandbox: Sandbox, work: () => Promise<T>, memoryBytes?: number): Promise<T> {
    return this.parts.capacityOf(sandbox.record).start(resourcesOf(sandbox.record), work, memoryBytes);
  }
}
