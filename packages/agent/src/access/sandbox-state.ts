import type { Timestamp } from "@boxyard/spec/agent";
import type { AgentState } from "../contracts.ts";

/** Facts that only the platform sets; no environment of `/init` can override them, that of a single process can. */
export interface PlatformFacts {
  readonly sandboxId?: string | undefined;
  readonly templateId?: string | undefined;
  /** Address of the events service, an IP. */
  readonly eventsAddress?: string | undefined;
}

/** What `/init` has set so far. */
export class SandboxState implements AgentState {
  defaultUser: string | undefined;
  defaultWorkdir: string | undefined;
  isInitialised = false;
  accessToken: string | undefined;
  private givenEnv: Readonly<Record<string, string>> = {};
  private facts: PlatformFacts = {};
  private composed: Readonly<Record<string, string>> = compose({}, {});
  private lastTime: Timestamp | undefined;

  get env(): Readonly<Record<string, string>> {
    return this.composed;
  }

  /** Replaces the whole given environment. */
  setEnv(env: Readonly<Record<string, string>>): void {
    this.givenEnv = env;
    this.composed = compose(env, this.facts);
  }

  /** Sets the platform facts that are given; a member that is undefined keeps its value. */
  learn(facts: PlatformFacts): void {
    this.facts = { ...this.facts, ...Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) };
    this.composed = compose(this.givenEnv, this.facts);
  }

  /** False when a later time was accepted before; else keeps the time and returns true. A call without a time is always accepted. */
  acceptTime(time: Timestamp | undefined): boolean {
    if (!time) return true;
    const last = this.lastTime;
    if (last && (time.seconds < last.seconds || (time.seconds === last.seconds && time.nanos < last.nanos))) return false;
    this.lastTime = time;
    return true;
  }
}

function compose(env: Readonly<Record<string, string>>, facts: PlatformFacts): Record<string, string> {
  const all: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(env)) all[name] = value;
  all.E2B_SANDBOX = "true";
  if (facts.sandboxId !== undefined) all.E2B_SANDBOX_ID = facts.sandboxId;
  if (facts.templateId !== undefined) all.E2B_TEMPLATE_ID = facts.templateId;
  if (facts.eventsAddress !== undefined) all.E2B_EVENTS_ADDRESS = `http://${facts.eventsAddress}`;
  return all;
}
