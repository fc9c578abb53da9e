import { AppError, type Clock, TimeLimit } from "@boxyard/core";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";

/** Body of the agent's `POST /init` (docs/contract/agent.md, Init), as far as this server uses it. */
export interface InitBody {
  readonly accessToken: string;
  /** Absent: the agent keeps its environment. */
  readonly envVars?: Readonly<Record<string, string>>;
  readonly defaultUser: string;
  readonly defaultWorkdir: string;
  /** RFC 3339. A call that is older than the last one changes nothing; one without a time is never older. */
  readonly timestamp?: string;
  /** Told to programs as E2B_SANDBOX_ID and E2B_TEMPLATE_ID, and in files below /run/e2b. */
  readonly sandboxID?: string;
  readonly templateID?: string;
}

const ATTEMPT_MS = 2000;
const AGENT_LIMIT_MS = 10_000;
/** Limit on a freeze: the agent itself fails after two seconds; one that hangs does not answer. */
const FREEZE_MS = 6_000;
const UNFREEZE_MS = 3_000;
const FIRST_WAIT_MS = 5;
const MAX_WAIT_MS = 200;

interface Order {
  readonly address: AgentAddress;
  readonly accessToken: string;
  readonly limitMs: number;
}

/** Connections to agents that others use too, before or after a request. */
export interface AgentLines {
  /** Sends a POST with a body of JSON. The status of the answer, which has no body; undefined when there is none, also after the abort. */
  post(
    to: AgentAddress,
    of: SandboxHandle,
    path: string,
    request: { readonly key: string; readonly body: string },
    signal: AbortSignal,
  ): Promise<number | undefined>;
}

/**
 * Calls the agent of a sandbox. Whatever answers may be hostile: no redirect is followed, no body is read, every attempt and the whole have
 * a limit in time.
 */
export class AgentClient {
  private readonly clock: Clock;
  private readonly limitMs: number;
  private readonly lines: AgentLines | undefined;

  /** `limitMs`: how long an agent may take for all attempts together. Without `lines` each request opens a connection of its own. */
  constructor(clock: Clock, limitMs = AGENT_LIMIT_MS, lines?: AgentLines) {
    this.clock = clock;
    this.limitMs = limitMs;
    this.lines = lines;
  }

  /**
   * Sends the agent its token and settings, repeatedly until it accepts them. `of`: whose agent it is, where the connection may serve others. Throws
   * `internal`, reason `agent_refused`, or `deadline_exceeded`, reason `agent_silent`.
   */
  async init(address: AgentAddress, initKey: string, body: InitBody, signal: AbortSignal, of?: SandboxHandle): Promise<void> {
    const end = this.clock.monotonic() + this.limitMs;
    let waitMs = FIRST_WAIT_MS;
    for (;;) {
      signal.throwIfAborted();
      const outcome = await this.attempt(address, initKey, body, signal, of);
      if (outcome === "done") return;
      if (outcome === "refused") throw new AppError("internal", "The sandbox's agent refused its init key", { reason: "agent_refused" });
      if (this.clock.monotonic() + waitMs > end) {
        throw new AppError("deadline_exceeded", "The sandbox's agent did not take its settings in time", { reason: "agent_silent" });
      }
      await this.clock.sleep(waitMs, signal);
      waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
    }
  }

  /**
   * Has the agent stop its commands, so that nothing changes while the sandbox is kept. Throws `unavailable`, reason `agent_silent` or
   * `not_frozen`, when it does not answer within six seconds or they do not stop. An agent that answers later thaws what it has frozen, because its
   * caller has left.
   */
  async freeze(address: AgentAddress, accessToken: string, signal: AbortSignal): Promise<void> {
    const status = await this.order("freeze?mode=hierarchy", { address, accessToken, limitMs: FREEZE_MS }, signal);
    if (status === 204) return;
    const reason = status === undefined ? "agent_silent" : "not_frozen";
    const message = status === undefined ? "The sandbox's agent does not answer" : "The sandbox's processes could not be stopped in time";
    throw new AppError("unavailable", message, { reason });
  }

  /** Thaws the commands after a failed pause. Repeatable; throws `unavailable` when that takes more than three seconds. */
  async unfreeze(address: AgentAddress, accessToken: string, signal: AbortSignal): Promise<void> {
    const status = await this.order("unfreeze", { address, accessToken, limitMs: UNFREEZE_MS }, signal);
    if (status !== 204) throw new AppError("unavailable", "The sandbox's agent did not thaw its commands", { reason: "agent_silent" });
  }

  /** The status of its answer; undefined when there is none. */
  private async order(path: string, { address, accessToken, limitMs }: Order, signal: AbortSignal): Promise<number | undefined> {
    signal.throwIfAborted();
    const request = { method: "POST", headers: { "X-Access-Token": accessToken } };
    using time = new TimeLimit(Math.min(limitMs, this.limitMs), this.clock);
    const status = await statusOf(address, path, request, time, signal);
    if (status === undefined) signal.throwIfAborted();
    return status;
  }

  /** True when the agent answers its health check within `limitMs`. */
  async isHealthy(address: AgentAddress, limitMs: number, signal: AbortSignal): Promise<boolean> {
    using time = new TimeLimit(limitMs, this.clock);
    return (await statusOf(address, "health", {}, time, signal)) === 204;
  }

  /**
   * Milliseconds since a command of the sandbox wrote its last output, as its agent says; undefined when there was none, the agent is older, or does not
   * answer within `limitMs`.
   */
  async outputAgeMs(address: AgentAddress, accessToken: string, limitMs: number, signal: AbortSignal): Promise<number | undefined> {
    const request = { headers: { "X-Access-Token": accessToken } };
    using time = new TimeLimit(limitMs, this.clock);
    const age = (await answerOf(address, "metrics", request, time, signal))?.headers.get("x-output-age-ms");
    return age && /^\d{1,15}$/.test(age) ? Number(age) : undefined;
  }

  private async attempt(
    address: AgentAddress,
    initKey: string,
    body: InitBody,
    signal: AbortSignal,
    of: SandboxHandle | undefined,
  ): Promise<"done" | "refused" | "again"> {
    const text = JSON.stringify(body);
    using time = new TimeLimit(Math.min(ATTEMPT_MS, this.limitMs), this.clock);
    const request = { method: "POST", headers: { "Content-Type": "application/json", "X-Init-Key": initKey }, body: text };
    const status =
      of && this.lines
        ? await this.lines.post(address, of, "/init", { key: initKey, body: text }, AbortSignal.any([signal, time.signal]))
        : await statusOf(address, "init", request, time, signal);
    if (status === 204) return "done";
    // No status: the agent does not listen yet, closed the connection, or is too slow. The loop checks the caller's signal.
    return status === 401 || status === 400 ? "refused" : "again";
  }
}

/** One request whose answer may be hostile: no redirect is followed, no body is read. Undefined when no answer comes before `time` is over. */
async function statusOf(...call: Parameters<typeof answerOf>): Promise<number | undefined> {
  return (await answerOf(...call))?.status;
}

async function answerOf(
  { host, agentPort }: AgentAddress,
  path: string,
  request: RequestInit,
  time: TimeLimit,
  signal: AbortSignal,
): Promise<Pick<Response, "status" | "headers"> | undefined> {
  try {
    const limit = AbortSignal.any([signal, time.signal]);
    const response = await fetch(`http://${host}:${agentPort}/${path}`, {
      ...request,
      redirect: "manual",
      keepalive: false,
      signal: limit,
    });
    void response.body?.cancel().catch(() => {});
    return response;
  } catch {
    return undefined;
  }
}
