import type { AppError, SandboxId, TeamId, TemplateId } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import { sandboxNotFound, sandboxReplaced } from "../problems.ts";
import { visibleState } from "../visible-state.ts";
import { SandboxCounts } from "./counts.ts";
import { SandboxNames } from "./names.ts";
import type { Sandbox } from "./sandbox.ts";
import { StartOrder } from "./start-order.ts";

/** Every sandbox that is not dead, in memory. */
export class LivingSandboxes {
  readonly names = new SandboxNames();
  /** Those that lists show. */
  readonly order = new StartOrder();
  /** What limits count. */
  readonly counts = new SandboxCounts();
  private readonly byId = new Map<SandboxId, Sandbox>();

  get size(): number {
    return this.byId.size;
  }

  /** Every sandbox that is not dead, of every owner. */
  all(): Sandbox[] {
    return [...this.byId.values()];
  }

  /** Sandboxes that users own, not builds. */
  ofUsers(): Sandbox[] {
    return this.all().filter(isOfUser);
  }

  find(id: SandboxId): Sandbox | undefined {
    return this.byId.get(id);
  }

  /** A sandbox of a team's users. */
  findOf(teamId: TeamId, id: SandboxId): Sandbox | undefined {
    const sandbox = this.byId.get(id);
    return sandbox && sandbox.record.teamId === teamId && isOfUser(sandbox) ? sandbox : undefined;
  }

  /** A sandbox of a team's users, in any state. Throws `not_found`; its reason is `sandbox_replaced` when another has the ended one's name now. */
  ownOf(teamId: TeamId, id: SandboxId): Sandbox {
    const sandbox = this.findOf(teamId, id);
    if (!sandbox) throw this.missing(teamId, id);
    return sandbox;
  }

  /** A sandbox of a team's users, in a state that clients can see. Throws as `ownOf`. */
  visibleOf(teamId: TeamId, id: SandboxId): Sandbox {
    const sandbox = this.findOf(teamId, id);
    if (!sandbox || visibleState(sandbox.state) === undefined) throw this.missing(teamId, id);
    return sandbox;
  }

  private missing(teamId: TeamId, id: SandboxId): AppError {
    const replacement = this.names.replacementOf(id, teamId);
    return replacement ? sandboxReplaced(id, replacement.record) : sandboxNotFound(id);
  }

  /** Records of the sandboxes of a team's users, in every state. */
  ofTeam(teamId: TeamId): SandboxRecord[] {
    const found: SandboxRecord[] = [];
    for (const sandbox of this.byId.values()) if (sandbox.record.teamId === teamId && isOfUser(sandbox)) found.push(sandbox.record);
    return found;
  }

  /** Users' sandboxes that were made from a template and have not ended. */
  usersOf(templateId: TemplateId): SandboxId[] {
    return this.ofUsers().flatMap((sandbox) => (sandbox.record.templateId === templateId && !sandbox.isEnding ? [sandbox.id] : []));
  }

  /** Users' sandboxes that were made from one of these builds and have not ended. */
  usersOfBuilds(buildIds: ReadonlySet<string>): SandboxId[] {
    const isOf = ({ record, isEnding }: Sandbox) => !isEnding && buildIds.has(record.facts.buildId ?? "");
    return this.ofUsers().flatMap((sandbox) => (isOf(sandbox) ? [sandbox.id] : []));
  }

  /** Throws `already_exists`, reason `sandbox_name_taken`, and adds nothing, when another sandbox of the team has its name. */
  add(sandbox: Sandbox): void {
    if (sandbox.isEnding) this.names.ended(sandbox);
    else if (sandbox.record.name !== undefined) this.names.take(sandbox, sandbox.record.name);
    this.byId.set(sandbox.id, sandbox);
    sandbox.onChange = () => this.follow(sandbox);
    this.follow(sandbox);
  }

  remove(id: SandboxId): void {
    const sandbox = this.byId.get(id);
    if (sandbox) sandbox.onChange = undefined;
    this.byId.delete(id);
    this.order.drop(id);
    this.counts.drop(id);
  }

  private follow(sandbox: Sandbox): void {
    this.order.follow(sandbox);
    this.counts.follow(sandbox);
  }
}

const isOfUser = ({ record }: Sandbox) => record.owner.kind === "user";
