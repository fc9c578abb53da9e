import type { SandboxId, TeamId } from "@boxyard/core";
import { addReference, type CheckpointHolder, dropReferences } from "./checkpoint-references.ts";
import type { Session } from "./session.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

/** `active`: the driver may have it. `committed`: the driver has it. `removing`: the driver may still have it, and nothing may begin to need it. */
export type CheckpointState = "active" | "committed" | "removing";

/** What a sandbox was at one moment: its disk, and its memory if asked. It outlives the sandbox. */
export interface CheckpointRecord {
  readonly id: string;
  readonly teamId: TeamId;
  /** The sandbox that was captured; undefined for the memory that a build of an earlier version has kept. */
  readonly sandboxId?: SandboxId;
  /** The checkpoint that the sandbox's state came from when this one was made. The removal of a checkpoint makes its parent that of its children. */
  readonly parentId?: string;
  /** Grows with each checkpoint of a sandbox; the first is 1. */
  readonly sequence: number;
  readonly state: CheckpointState;
  /** True: the processes go on in sandboxes that start from it. False: sandboxes boot from its disk. */
  readonly memory: boolean;
  /** Bytes of memory and disk above the layers; undefined before it is committed, and for those of earlier versions. */
  readonly bytes?: number;
  /** The driver's name of it. The server chooses it: the id. */
  readonly reference: string;
  /** The name and the tag that it was made with. */
  readonly name?: string;
  readonly tag?: string;
  /** How many holders need it. */
  readonly references: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** A checkpoint that is about to be captured. */
export type NewCheckpoint = Pick<CheckpointRecord, "id" | "teamId" | "memory" | "name" | "tag" | "createdAt"> & {
  readonly sandboxId: SandboxId;
  /** What needs it from the begin. */
  readonly holder?: CheckpointHolder;
};

/** How many checkpoints `listUnused` gives at once, and the ids of one query. */
const AT_ONCE = 500;
/** Most parents that are followed. */
const MOST_PARENTS = 1000;

/** The checkpoints of this node. */
export class CheckpointRows {
  private readonly session: Session;
  private readonly node: string;

  constructor(session: Session, node: string) {
    this.session = session;
    this.node = node;
  }

  /**
   * Adds a checkpoint before the driver captures it, so that the next server finds it whatever happens. Its parent is the checkpoint that the sandbox's
   * state comes from: the one before, the one that it was made from, or the one of its last rollback.
   */
  async begin({ id, teamId, sandboxId, memory, name, tag, createdAt, holder }: NewCheckpoint): Promise<void> {
    await this.session.transaction(async (tx) => {
      const { sql } = tx;
      const [head] =
        (await sql`SELECT k.id FROM sandboxes s JOIN checkpoints k ON k.id = s.checkpoint_id WHERE s.id = ${sandboxId}`) as Row[];
      const [newest] =
        (await sql`SELECT id, sequence FROM checkpoints WHERE sandbox_id = ${sandboxId} ORDER BY sequence DESC LIMIT 1`) as Row[];
      const values = {
        id,
        team_id: teamId as string,
        node: this.node,
        sandbox_id: sandboxId as string,
        parent_id: head?.id ?? newest?.id ?? null,
        sequence: num(newest?.sequence ?? 0) + 1,
        state: "active",
        memory: memory ? 1 : 0,
        bytes: null,
        reference: id,
        name: name ?? null,
        tag: tag ?? null,
        reference_count: 0,
        created_at: createdAt,
      };
      await sql`INSERT INTO checkpoints ${sql(values)}`;
      if (holder) await addReference(tx, id, holder);
    });
  }

  /** Notes that the driver has the checkpoint. Returns whether it was active. */
  async commit(id: string, bytes: number): Promise<boolean> {
    return this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`UPDATE checkpoints SET state = 'committed', bytes = ${bytes} WHERE id = ${id} AND state = 'active'
        RETURNING team_id, sandbox_id, memory`) as Row[];
      if (!row) return false;
      const after = { sandboxId: row.sandbox_id, memory: num(row.memory) === 1, bytes };
      tx.record({ action: "checkpoint.committed", targetId: id, teamId: text(row.team_id) as TeamId, after });
      return true;
    });
  }

  async find(id: string): Promise<CheckpointRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM checkpoints WHERE id = ${id} AND node = ${this.node}`) as Row[];
    return row && checkpointOf(row);
  }

  /** The bytes of these checkpoints, by id; without those that are not there, or whose bytes are not known. */
  async bytesOf(ids: readonly string[]): Promise<Map<string, number>> {
    const found = new Map<string, number>();
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const some = this.session.sql(ids.slice(at, at + AT_ONCE));
      const rows = (await this.session.sql`SELECT id, bytes FROM checkpoints WHERE id IN ${some} AND bytes IS NOT NULL`) as Row[];
      for (const row of rows) found.set(text(row.id), num(row.bytes));
    }
    return found;
  }

  /** Those of a sandbox, in the order of their sequence. */
  async ofSandbox(id: SandboxId): Promise<CheckpointRecord[]> {
    const rows = (await this.session
      .sql`SELECT * FROM checkpoints WHERE sandbox_id = ${id} AND node = ${this.node} ORDER BY sequence`) as Row[];
    return rows.map(checkpointOf);
  }

  /** The parents of a checkpoint, nearest first; 1000 at most. */
  async parents(id: string): Promise<CheckpointRecord[]> {
    const rows = (await this.session.sql`WITH RECURSIVE chain (id, depth) AS (
        SELECT parent_id, 1 FROM checkpoints WHERE id = ${id} AND node = ${this.node}
        UNION ALL SELECT k.parent_id, chain.depth + 1 FROM checkpoints k JOIN chain ON k.id = chain.id WHERE chain.depth < ${MOST_PARENTS})
      SELECT k.* FROM chain JOIN checkpoints k ON k.id = chain.id ORDER BY chain.depth`) as Row[];
    return rows.map(checkpointOf);
  }

  /** Adds a reference. Repeatable. Returns false when there is no such checkpoint, or when it is being removed. */
  async refer(id: string, holder: CheckpointHolder): Promise<boolean> {
    return this.session.transaction((tx) => addReference(tx, id, holder));
  }

  /** Removes the references of a holder. Repeatable. */
  async release({ kind, id }: CheckpointHolder): Promise<void> {
    await this.session.transaction((tx) => dropReferences(tx, kind, [id]));
  }

  /** Checkpoints that nothing refers to, oldest first; 500 at most. The work that has just begun one of them may be in progress. */
  async listUnused(): Promise<CheckpointRecord[]> {
    const rows = (await this.session.sql`SELECT * FROM checkpoints WHERE node = ${this.node} AND reference_count = 0
      ORDER BY created_at LIMIT ${AT_ONCE}`) as Row[];
    return rows.map(checkpointOf);
  }

  /** Marks a checkpoint as one that is being removed, if nothing refers to it. Repeatable. Returns whether it may be removed. */
  async markRemoving(id: string): Promise<boolean> {
    const rows = (await this.session.sql`UPDATE checkpoints SET state = 'removing' WHERE id = ${id} AND reference_count = 0
      RETURNING id`) as Row[];
    return rows.length === 1;
  }

  /** Removes the row of a checkpoint that the driver does not have any more. Does nothing when there is none. */
  async remove(id: string): Promise<void> {
    await this.session.transaction(async (tx) => {
      const [row] = (await tx.sql`DELETE FROM checkpoints WHERE id = ${id} AND state = 'removing'
        RETURNING team_id, sandbox_id, parent_id, bytes`) as Row[];
      if (!row) return;
      await tx.sql`UPDATE checkpoints SET parent_id = ${row.parent_id} WHERE parent_id = ${id}`;
      await tx.sql`UPDATE sandboxes SET checkpoint_id = ${row.parent_id} WHERE checkpoint_id = ${id}`;
      // One that was never committed has no event of its begin.
      if (row.bytes === null) return;
      const before = { sandboxId: row.sandbox_id, bytes: num(row.bytes) };
      tx.record({ action: "checkpoint.removed", targetId: id, teamId: text(row.team_id) as TeamId, before });
    });
  }

  /**
   * Which of these references of this node's driver have a checkpoint. Those of another node become this node's: the driver here has them, so the data
   * directory has lost its node id.
   */
  async takeOver(references: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>();
    for (let at = 0; at < references.length; at += AT_ONCE) {
      const some = this.session.sql(references.slice(at, at + AT_ONCE));
      const rows = (await this.session.sql`SELECT reference, node FROM checkpoints WHERE reference IN ${some}`) as Row[];
      for (const row of rows) found.add(text(row.reference));
      const others = rows.filter((row) => text(row.node) !== this.node).map((row) => text(row.reference));
      if (others.length > 0)
        await this.session.sql`UPDATE checkpoints SET node = ${this.node} WHERE reference IN ${this.session.sql(others)}`;
    }
    return found;
  }
}

function checkpointOf(row: Row): CheckpointRecord {
  const bytes = optionalNum(row.bytes);
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    ...(row.sandbox_id === null ? {} : { sandboxId: text(row.sandbox_id) as SandboxId }),
    ...(row.parent_id === null ? {} : { parentId: text(row.parent_id) }),
    sequence: num(row.sequence),
    state: text(row.state) as CheckpointState,
    memory: num(row.memory) === 1,
    ...(bytes === undefined ? {} : { bytes }),
    reference: text(row.reference),
    ...(row.name === null ? {} : { name: text(row.name) }),
    ...(row.tag === null ? {} : { tag: text(row.tag) }),
    references: num(row.reference_count),
    createdAt: num(row.created_at),
  };
}
