import type { SandboxId, TeamId } from "@boxyard/core";
import { nameTaken } from "../../store/sandbox-names.ts";
import type { FormerName } from "../../store/store.ts";
import type { Sandbox } from "./sandbox.ts";

/** Most ended sandboxes whose names are known. */
export const MOST_FORMER = 10_000;

/**
 * Who has which name, in memory. A name is taken in the same turn of the event loop in which it was found free; the store's index says the same for
 * the next server. A sandbox that is being removed has its name no more.
 */
export class SandboxNames {
  private readonly holders = new Map<string, Sandbox>();
  /** Names of ended sandboxes, the newest last. */
  private readonly former = new Map<string, FormerName>();

  /** The sandbox of a team that has the name. */
  holder(teamId: TeamId, name: string): Sandbox | undefined {
    return this.holders.get(keyOf(teamId, name));
  }

  /** Gives a sandbox a name beside the one that it has. Throws `already_exists`, reason `sandbox_name_taken`. */
  take(sandbox: Sandbox, name: string): void {
    const key = keyOf(sandbox.record.teamId, name);
    const holder = this.holders.get(key);
    if (holder && holder.id !== sandbox.id) throw nameTaken(name, holder.id);
    this.holders.set(key, sandbox);
  }

  /** Repeatable. */
  free(sandbox: Sandbox, name: string): void {
    const key = keyOf(sandbox.record.teamId, name);
    if (this.holders.get(key) === sandbox) this.holders.delete(key);
  }

  /** To be called when the removal of a sandbox begins. Repeatable. */
  ended(sandbox: Sandbox): void {
    const { id, teamId, name } = sandbox.record;
    if (name === undefined) return;
    this.free(sandbox, name);
    this.remember([{ id, teamId, name }]);
  }

  /** Notes the names of ended sandboxes, the newest last. */
  remember(former: readonly FormerName[]): void {
    for (const one of former) {
      this.former.delete(one.id);
      this.former.set(one.id, one);
    }
    for (const id of this.former.keys()) {
      if (this.former.size <= MOST_FORMER) return;
      this.former.delete(id);
    }
  }

  /** The sandbox that has the name of an ended one now. `teamId`: only for this team. */
  replacementOf(id: string, teamId?: TeamId): Sandbox | undefined {
    const former = this.former.get(id);
    if (!former || (teamId !== undefined && former.teamId !== teamId)) return undefined;
    const holder = this.holder(former.teamId, former.name);
    return holder && (holder.id as SandboxId) !== id ? holder : undefined;
  }
}

const keyOf = (teamId: TeamId, name: string) => `${teamId}/${name}`;
