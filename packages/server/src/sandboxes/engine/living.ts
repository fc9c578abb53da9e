import type { SandboxId, TeamId, TemplateId } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import type { Sandbox } from "./sandbox.ts";

/** Every sandbox that is not dead, in memory. */
export class LivingSandboxes {
  private readonly byId = new Map<SandboxId, Sandbox>();

  get size(): number {
    return this.byId.size;
  }

  /** Every sandbox that is not dead, of every owner. */
  all(): Sandbox[] {
    return [...this.byId.values()];
  }

  find(id: SandboxId): Sandbox | undefined {
    return this.byId.get(id);
  }

  /** Records of a team's sandboxes, in every state. */
  ofTeam(teamId: TeamId): SandboxRecord[] {
    const found: SandboxRecord[] = [];
    for (const { record } of this.byId.values()) if (record.teamId === teamId) found.push(record);
    return found;
  }

  /** Sandboxes that were made from a template and have not ended. */
  usersOf(templateId: TemplateId): SandboxId[] {
    const users: SandboxId[] = [];
    for (const sandbox of this.byId.values()) if (sandbox.record.templateId === templateId && !sandbox.isEnding) users.push(sandbox.id);
    return users;
  }

  add(sandbox: Sandbox): void {
    this.byId.set(sandbox.id, sandbox);
  }

  remove(id: SandboxId): void {
    this.byId.delete(id);
  }
}
