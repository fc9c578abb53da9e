import type { TeamId } from "@boxyard/core";
import { dropReferences } from "./checkpoint-references.ts";
import type { Session } from "./session.ts";
import { num, optionalNum, type Row, text } from "./sql-values.ts";

/** Work that runs several transitions: in progress, or finished. One that was undone has no row. */
export interface OperationRecord {
  readonly id: string;
  readonly teamId: TeamId;
  readonly kind: string;
  /** The step that it has reached. */
  readonly step: string;
  /** JSON: what its undo needs. */
  readonly input: unknown;
  /** JSON; undefined until it is finished. */
  readonly output?: unknown;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly finishedAt?: number;
}

/** The operations of this node. */
export class OperationRows {
  private readonly session: Session;
  private readonly node: string;

  constructor(session: Session, node: string) {
    this.session = session;
    this.node = node;
  }

  /** Throws when the id exists. */
  async begin({ id, teamId, kind, step, input, createdAt }: Omit<OperationRecord, "output" | "finishedAt">): Promise<void> {
    const values = { id, team_id: teamId as string, node: this.node, kind, step, input: JSON.stringify(input), created_at: createdAt };
    await this.session.sql`INSERT INTO operations ${this.session.sql(values)}`;
  }

  async setStep(id: string, step: string): Promise<void> {
    await this.session.sql`UPDATE operations SET step = ${step} WHERE id = ${id}`;
  }

  /** Writes the output. The operation needs its checkpoints no longer. */
  async finish(id: string, output: unknown, finishedAt: number): Promise<void> {
    await this.session.transaction(async (tx) => {
      await tx.sql`UPDATE operations SET output = ${JSON.stringify(output)}, finished_at = ${finishedAt} WHERE id = ${id}`;
      await dropReferences(tx, "operation", [id]);
    });
  }

  /** Makes a finished operation an unfinished one, because it is being undone. */
  async reopen(id: string): Promise<void> {
    await this.session.sql`UPDATE operations SET output = NULL, finished_at = NULL WHERE id = ${id}`;
  }

  async find(id: string): Promise<OperationRecord | undefined> {
    const [row] = (await this.session.sql`SELECT * FROM operations WHERE id = ${id} AND node = ${this.node}`) as Row[];
    return row && operationOf(row);
  }

  /** Those that are not finished, oldest first. */
  async listUnfinished(): Promise<OperationRecord[]> {
    const rows = (await this.session.sql`SELECT * FROM operations WHERE node = ${this.node} AND finished_at IS NULL
      ORDER BY created_at, id`) as Row[];
    return rows.map(operationOf);
  }

  /** Removes one that was undone. It needs its checkpoints no longer. Does nothing when there is none. */
  async remove(id: string): Promise<void> {
    await this.session.transaction(async (tx) => {
      await tx.sql`DELETE FROM operations WHERE id = ${id}`;
      await dropReferences(tx, "operation", [id]);
    });
  }

  /** Removes those that were finished before `time`. */
  async prune(time: number): Promise<void> {
    await this.session.sql`DELETE FROM operations WHERE finished_at < ${time}`;
  }
}

function operationOf(row: Row): OperationRecord {
  const finishedAt = optionalNum(row.finished_at);
  return {
    id: text(row.id),
    teamId: text(row.team_id) as TeamId,
    kind: text(row.kind),
    step: text(row.step),
    input: JSON.parse(text(row.input)),
    ...(row.output === null ? {} : { output: JSON.parse(text(row.output)) }),
    createdAt: num(row.created_at),
    ...(finishedAt === undefined ? {} : { finishedAt }),
  };
}
