import { AppError, type Clock, type SandboxId, type TeamId } from "@boxyard/core";
import { AGENT_PORT } from "@boxyard/spec";
import type { RouteTable } from "../proxy/route-table.ts";
import type { Engine } from "./engine/engine.ts";
import { type PortLinks, withdrawn } from "./port-links.ts";

export interface PortUrlParts {
  readonly engine: Engine;
  readonly routes: Pick<RouteTable, "cutLinked">;
  readonly portLinks: PortLinks;
  readonly clock: Clock;
}

export interface PortLink {
  readonly token: string;
  /** Seconds since 1970. */
  readonly expiresAt: number;
  /** True: the port is open to everybody, with or without the link. */
  readonly isPublic: boolean;
}

/** Links to ports of sandboxes for others than their team. */
export class PortUrls {
  private readonly parts: PortUrlParts;

  constructor(parts: PortUrlParts) {
    this.parts = parts;
  }

  /** A link that lets its holder into this port for so many seconds. Throws `not_found`; `invalid_argument` for the agent's port. */
  make(teamId: TeamId, id: SandboxId, port: number, seconds: number): PortLink {
    const { record } = this.sandbox(teamId, id, port);
    const expiresAt = Math.floor(this.parts.clock.now() / 1000) + seconds;
    return { token: this.parts.portLinks.make(record, port, expiresAt), expiresAt, isPublic: record.settings.allowPublicTraffic };
  }

  /** Withdraws every link of this port: none lets anybody in from now on, and what such links have open is cut. Throws `not_found`. */
  async withdraw(teamId: TeamId, id: SandboxId, port: number): Promise<void> {
    const { engine, routes } = this.parts;
    const sandbox = this.sandbox(teamId, id, port);
    await engine.amend(sandbox, ({ settings }) => ({ settings: { ...settings, portLinks: withdrawn(settings.portLinks, port) } }));
    routes.cutLinked(id, port);
  }

  private sandbox(teamId: TeamId, id: SandboxId, port: number) {
    const sandbox = this.parts.engine.sandboxes.visibleOf(teamId, id);
    if (port !== AGENT_PORT) return sandbox;
    throw new AppError("invalid_argument", `port: ${AGENT_PORT} is the port of the sandbox's agent, which has a token of its own`, {
      reason: "port_of_agent",
    });
  }
}
