import type { TeamId } from "@boxyard/core";
import type { Session } from "./session.ts";
import { num, type Row, text } from "./sql-values.ts";

/** `creating`: the driver may have it. `ready`: the driver has it. `deleting`: the driver may still have it. */
export type VolumeState = "creating" | "ready" | "deleting";

/** A volume of a team, on this node. The driver keeps the files. */
export interface VolumeRecord {
  /** Also the driver's name of it. */
  readonly id: string;
  readonly teamId: TeamId;
  /** One volume of a team has it, on whatever node. */
  readonly name: string;
  readonly state: VolumeState;
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** The volumes of this node, in each state. */
export class VolumeRows {
  private readonly session: Session;
  private readonly node: string;

  constructor(session: Session, node: string) {
    this.session = session;
    this.node = node;
  }

  /** Returns false, and adds nothing, when the team has a volume of this name. */
  async add({ id, teamId, name, state, sizeBytes, createdAt }: VolumeRecord): Promise<boolean> {
    const values = { id, team_id: teamId as string, node: this.node, name, state, size_bytes: sizeBytes, created_at: createdAt };
    return this.session.transaction(async (tx) => {
      const added = await tx.sql`INSERT INTO volumes ${tx.sql(values)} ON CONFLICT (team_id, name) DO NOTHING RETURNING id`;
      if (added.length === 1) tx.record({ action: "volume.created", targetId: id, teamId, after: { name, state, sizeBytes } });
      return added.length === 1;
    });
  }

  async find(id: string): Promise<VolumeRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM volumes WHERE id = ${id} AND node = ${this.node}`) as Row[];
    return row && volumeOf(row);
  }

  async findNamed(teamId: TeamId, name: string): Promise<VolumeRecord | undefined> {
    const [row] = (await this.session
      .sql`SELECT * FROM volumes WHERE team_id = ${teamId} AND name = ${name} AND node = ${this.node}`) as Row[];
    return row && volumeOf(row);
  }

  /** Oldest first. */
  async list(): Promise<VolumeRecord[]> {
    return ((await this.session.sql`SELECT * FROM volumes WHERE node = ${this.node} ORDER BY created_at, id`) as Row[]).map(volumeOf);
  }

  /** Compare and set: returns whether the volume was in the state `from`. */
  async setState(id: string, from: VolumeState, to: VolumeState): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE volumes SET state = ${to} WHERE id = ${id} AND state = ${from} RETURNING team_id`) as Row[];
      if (!row) return false;
      const states = { before: { state: from }, after: { state: to } };
      tx.record({ action: `volume.${to}`, targetId: id, teamId: text(row.team_id) as TeamId, ...states });
      return true;
    });
  }

  /** Does nothing when there is none, or it has this size. */
  async setSize(id: string, sizeBytes: number): Promise<void> {
    await this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`SELECT team_id, size_bytes FROM volumes WHERE id = ${id}`) as Row[];
      if (!row || num(row.size_bytes) === sizeBytes) return;
      await tx.sql`UPDATE volumes SET size_bytes = ${sizeBytes} WHERE id = ${id}`;
      const sizes = { before: { sizeBytes: num(row.size_bytes) }, after: { sizeBytes } };
      tx.record({ action: "volume.resized", targetId: id, teamId: text(row.team_id) as TeamId, ...sizes });
    });
  }

  /** Does nothing when there is none. */
  async remove(id: string): Promise<void> {
    await this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`DELETE FROM volumes WHERE id = ${id} RETURNING team_id, name, state`) as Row[];
      if (!row) return;
      const before = { name: text(row.name), state: text(row.state) };
      tx.record({ action: "volume.removed", targetId: id, teamId: text(row.team_id) as TeamId, before });
    });
  }
}

function volumeOf(row: Row): VolumeRecord {
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    name: text(row.name),
    state: text(row.state) as VolumeState,
    sizeBytes: num(row.size_bytes),
    createdAt: num(row.created_at),
  };
}
