import { type AppError, isAppError, type SandboxId, type SandboxState } from "@boxyard/core";
import type { AgentAddress } from "@boxyard/driver";
import { actAs, SERVER } from "../../actor.ts";
import type { Guarded } from "../../proxy/route-table.ts";
import type { EndCause, SandboxRecord } from "../../store/index.ts";
import { Evictor } from "./evictor.ts";
import { idleEndOf } from "./idle.ts";
import type { EngineNeeds } from "./parts.ts";
import { Incarnation, type Sandbox } from "./sandbox.ts";

const WATCH_RETRY_MS = 1000;

export interface ReachEvents {
  /** The `endAt` of a sandbox is over. */
  due(id: SandboxId): void;
  /** A request has come that resumes this paused sandbox. Resolves with the refusal when there is no room or no place for it; never rejects. */
  wanted(sandbox: Sandbox): Promise<AppError | undefined>;
  /** The processes of an incarnation have ended by themselves. Resolves when the sandbox is removed. */
  ended(sandbox: Sandbox, incarnation: Incarnation, cause: EndCause): Promise<void>;
}

/** Keeps what follows from a sandbox's state: its deadline, its route, and the watch of its processes. */
export class Reach {
  private readonly parts: EngineNeeds;
  private readonly events: ReachEvents;
  private readonly evictor: Evictor;

  constructor(parts: EngineNeeds, events: ReachEvents) {
    this.parts = parts;
    this.events = events;
    this.evictor = new Evictor(
      parts.clock,
      (id) => events.due(id as SandboxId),
      () => parts.permit?.isValid !== false,
    );
  }

  start(): void {
    this.evictor.start();
  }

  async stop(): Promise<void> {
    await this.evictor.stop();
  }

  /**
   * Brings deadline, incarnation, route and watch in line with the record. The engine calls this after every change of the record. A sandbox
   * keeps its route while it pauses or is snapshotted, so that a failure costs no open connection. During a pause, new requests wait if they
   * may wake the sandbox, else they are refused; during a resume they are refused. A sandbox whose processes are replaced is as one that pauses
   * until its record has the next incarnation, and then as one that resumes.
   */
  follow(sandbox: Sandbox): void {
    const { state, record } = sandbox;
    if (state === "paused" || state === "killing" || state === "dead") this.drop(sandbox);
    else if (isReplaced(state) && sandbox.incarnation?.handle.incarnation !== record.incarnation) this.drop(sandbox);
    if ((state === "creating" || state === "resuming" || isReplaced(state)) && sandbox.incarnation === undefined)
      sandbox.incarnation = new Incarnation(sandbox.handle);
    if (state === "running") this.open(sandbox);
    if (state === "running" && record.owner.kind === "user") this.evictor.set(sandbox.id, this.dueAt(sandbox));
    else this.evictor.delete(sandbox.id);
    this.parts.routes.markEnding(sandbox.id, state === "pausing" ? "pausing" : isReplaced(state) ? "replacing" : undefined);
    if (this.isStarting(sandbox) && record.owner.kind === "user") this.parts.routes.addChanging(this.guardOf(sandbox));
    if ((state === "paused" || state === "pausing" || state === "rollingBack") && mayWake(record)) this.sleep(sandbox);
    else if (state === "running") this.parts.routes.removeSleeper(sandbox.id);
  }

  /** When the engine has to look at a sandbox: at its end, when it may have been idle for too long, or when the client that prepares it has gone. */
  private dueAt(sandbox: Sandbox): number {
    const { endAt, settings } = sandbox.record;
    const idleEnd = idleEndOf(sandbox, this.parts.routes.find(sandbox.id)) ?? Infinity;
    return Math.min(endAt, settings.setup?.until ?? Infinity, idleEnd);
  }

  /** True while new processes of a sandbox start that had others before. */
  private isStarting({ state, incarnation }: Sandbox): boolean {
    return state === "resuming" || (isReplaced(state) && !incarnation?.isReachable);
  }

  /** For a sandbox whose processes an earlier server started, or this one in a transition that failed. */
  recovered(sandbox: Sandbox, address: AgentAddress): void {
    sandbox.incarnation?.end();
    sandbox.incarnation = new Incarnation(sandbox.handle);
    sandbox.incarnation.address = address;
  }

  /** Begins to watch the incarnation, and routes requests to it if a user owns the sandbox. */
  private open(sandbox: Sandbox): void {
    const { incarnation } = sandbox;
    if (incarnation?.address === undefined) return;
    if (!incarnation.isRouted && sandbox.record.owner.kind === "user") {
      incarnation.isRouted = true;
      this.addRoute(sandbox, incarnation, incarnation.address);
    }
    if (incarnation.isReachable) return;
    incarnation.isReachable = true;
    // As the server: what the watch finds is not caused by the caller of the create. Later: that caller need not wait 0.5 ms for the driver's file reads.
    setImmediate(() => void actAs(SERVER, () => this.watch(sandbox, incarnation)));
  }

  private addRoute(sandbox: Sandbox, { handle }: Incarnation, { host, agentPort }: AgentAddress): void {
    const { routes, tokens } = this.parts;
    const { driver } = sandbox;
    const { id, settings } = sandbox.record;
    routes.add({
      ...this.guardOf(sandbox),
      ...(sandbox.record.owner.kind === "user" && { owner: sandbox.record.teamId }),
      incarnation: handle.incarnation,
      host,
      agentPort,
      accessToken: tokens.access(id),
      ...(settings.maskRequestHost === undefined ? {} : { maskHost: settings.maskRequestHost }),
      ...(settings.httpsPorts && { httpsPorts: settings.httpsPorts }),
      ...(driver.capabilities.loopback && {
        inside: (port: number, signal: AbortSignal) => driver.connectInside(handle, port, signal),
      }),
    });
  }

  private sleep(sandbox: Sandbox): void {
    const accessToken = this.parts.tokens.access(sandbox.id);
    this.parts.routes.addSleeper({ ...this.guardOf(sandbox), accessToken, wake: () => this.events.wanted(sandbox) });
  }

  private guardOf(sandbox: Sandbox): Guarded {
    const { tokens, portLinks } = this.parts;
    const { id, settings } = sandbox.record;
    // The record of that moment: links are withdrawn while the sandbox runs. A public port needs one for raw TCP.
    const linkSeconds = (port: number, token: string) => portLinks.secondsLeft(sandbox.record, port, token);
    return { sandboxId: id, linkSeconds, ...(!settings.allowPublicTraffic && { trafficToken: tokens.traffic(id) }) };
  }

  private drop(sandbox: Sandbox): void {
    this.parts.routes.remove(sandbox.id);
    this.parts.routes.removeSleeper(sandbox.id);
    this.parts.routes.removeChanging(sandbox.id);
    sandbox.incarnation?.end();
    sandbox.incarnation = undefined;
  }

  private async watch(sandbox: Sandbox, incarnation: Incarnation): Promise<void> {
    const { clock, events } = this.parts;
    const { signal } = incarnation;
    while (!signal.aborted) {
      try {
        const exit = await sandbox.driver.wait(incarnation.handle, signal);
        if (!signal.aborted) await this.events.ended(sandbox, incarnation, exit.reason);
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (isAppError(error, "not_found")) {
          await this.events.ended(sandbox, incarnation, "lost").catch(() => {});
          return;
        }
        events.watchFailed(sandbox.id, error);
        await clock.sleep(WATCH_RETRY_MS, signal).catch(() => {});
      }
    }
  }
}

/** True while the processes of a sandbox are ended and others started in their place. */
const isReplaced = (state: SandboxState): boolean => state === "rollingBack" || state === "rebooting";

/** Whether requests resume the sandbox. Not one that was paused without its memory: that would be a boot. */
export const mayWake = ({ settings }: SandboxRecord): boolean =>
  (settings.lifecycle?.wakes ?? false) && settings.pauseMode !== "filesystem";
