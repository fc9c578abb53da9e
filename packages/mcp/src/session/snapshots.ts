import { type ConnectionOptions, Sandbox, type SnapshotInfo } from "@boxyard/sdk";
import { ToolError } from "../errors.ts";

export type OwnSnapshots = Pick<SessionSnapshots, "create" | "exists" | "remove" | "removeUnnamed">;

const MAX_UNNAMED = 100;

/** Snapshots of a session: those without a name end with it. */
export class SessionSnapshots {
  private readonly unnamed = new Set<string>();
  private readonly connection: () => Promise<ConnectionOptions>;

  constructor(connection: () => Promise<ConnectionOptions>) {
    this.connection = connection;
  }

  async create(sandbox: Sandbox, name: string | undefined, requestTimeoutMs: number): Promise<SnapshotInfo> {
    if (name === undefined && this.unnamed.size >= MAX_UNNAMED) {
      throw new ToolError(`This session has ${MAX_UNNAMED} snapshots without a name.`, "`remove` some, or give a name.");
    }
    const info = await sandbox.createSnapshot({ name, requestTimeoutMs });
    if (name === undefined) this.unnamed.add(info.snapshotId);
    return info;
  }

  /** Deletes a snapshot by id or name; never a template. False if there is no such snapshot. */
  async remove(id: string): Promise<boolean> {
    if (!(await this.exists(id))) return false;
    this.unnamed.delete(id);
    return Sandbox.deleteSnapshot(id, await this.connection());
  }

  async exists(id: string): Promise<boolean> {
    const found = await Sandbox.listSnapshots({ ...(await this.connection()), name: id, limit: 1 }).nextItems();
    return found.length > 0;
  }

  async removeUnnamed(options: ConnectionOptions | undefined): Promise<void> {
    if (options) await Promise.allSettled([...this.unnamed].map((id) => Sandbox.deleteSnapshot(id, options)));
  }
}
