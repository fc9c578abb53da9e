import type { SandboxId, TeamId } from "@boxyard/core";
import { oldestFirst, type Position } from "../../page.ts";
import type { SandboxRecord } from "../../store/index.ts";
import { visibleState } from "../visible-state.ts";

/** A sandbox at its place in the order. */
export interface Placed extends Position {
  readonly id: SandboxId;
  readonly teamId: TeamId;
  readonly isRunning: boolean;
  readonly sandbox: { readonly record: SandboxRecord };
}

/** One team's sandboxes in the order, and how many of them run. */
export interface TeamOrder {
  readonly placed: readonly Placed[];
  readonly running: number;
}

interface MutableOrder extends TeamOrder {
  readonly placed: Placed[];
  running: number;
}

const NONE: TeamOrder = { placed: [], running: 0 };

/**
 * The sandboxes of users that clients can see, of each team by their starts, the oldest first; those that started at the same time by their ids. Kept in
 * order at each change, so that a page of a list costs as much as the page is long.
 */
export class StartOrder {
  private readonly teams = new Map<TeamId, MutableOrder>();
  private readonly byId = new Map<SandboxId, Placed>();

  /** A team's part, to be read at once: the next change changes it. */
  of(teamId: TeamId): TeamOrder {
    return this.teams.get(teamId) ?? NONE;
  }

  /** To be called after each change of a sandbox's record. */
  follow(sandbox: { readonly record: SandboxRecord }): void {
    const wanted = placeOf(sandbox);
    const known = this.byId.get(sandbox.record.id);
    if (known && wanted && known.at === wanted.at && known.teamId === wanted.teamId && known.isRunning === wanted.isRunning) return;
    this.drop(sandbox.record.id);
    if (wanted) this.put(wanted);
  }

  drop(id: SandboxId): void {
    const known = this.byId.get(id);
    const team = known && this.teams.get(known.teamId);
    if (!known || !team) return;
    this.byId.delete(id);
    team.placed.splice(firstAtOrAfter(team.placed, known), 1);
    if (known.isRunning) team.running--;
    if (team.placed.length === 0) this.teams.delete(known.teamId);
  }

  private put(placed: Placed): void {
    const team = this.teams.get(placed.teamId) ?? { placed: [], running: 0 };
    this.teams.set(placed.teamId, team);
    team.placed.splice(firstAtOrAfter(team.placed, placed), 0, placed);
    if (placed.isRunning) team.running++;
    this.byId.set(placed.id, placed);
  }
}

/** When a sandbox counts as started. */
const startOf = ({ startedAt, createdAt }: SandboxRecord): number => startedAt ?? createdAt;

function placeOf(sandbox: { readonly record: SandboxRecord }): Placed | undefined {
  const { record } = sandbox;
  const state = visibleState(record.state);
  if (record.owner.kind !== "user" || state === undefined) return undefined;
  return { at: startOf(record), id: record.id, teamId: record.teamId, isRunning: state === "running", sandbox };
}

/** The place of the first that is not before `position`. */
export function firstAtOrAfter(placed: readonly Placed[], position: Position): number {
  let [low, high] = [0, placed.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (oldestFirst(placed[middle] as Placed, position) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
