import { type ConnectionOptions, NotFoundError, Sandbox, SandboxEndedError } from "@boxyard/sdk";
import { ToolError } from "../errors.ts";
import { SessionCommands } from "./commands.ts";
import { type OwnSnapshots, SessionSnapshots } from "./snapshots.ts";

/** The longest time for which a sandbox outlives a session that was killed. */
const LEASE_MS = 120_000;
const RENEW_EVERY_MS = 30_000;
/** Least lifetime of a sandbox of others when a tool uses it. */
const BORROWED_MS = 300_000;
/** A pause, a resume or a copy of a large memory takes its time. */
export const STATE_REQUEST_MS = 600_000;
const MAX_SANDBOXES = 32;
const MAX_CALLS = 64;
/** Metadata of sandboxes that a session has made: `session` for those that end with it, `kept` for the others. */
export const MARK = "boxyard.mcp";

/** `kept`: stays after the session, paused. `borrowed`: made by another client, or by an earlier session that kept it. */
export type Ownership = "own" | "kept" | "borrowed";

export interface Member {
  readonly sandbox: Sandbox;
  readonly ownership: Ownership;
  paused: boolean;
}

export interface CreateOptions {
  readonly from?: string | undefined;
  readonly keep?: boolean | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly internet?: boolean | undefined;
}

/** Gives the address of the server and the key; called when a tool needs them. */
export type Connect = () => Promise<SessionConnection>;

export interface SessionConnection extends ConnectionOptions {
  /** The server's address as the client knows it, where it is another than `apiUrl`. */
  readonly publicUrl?: string | undefined;
}

/**
 * One client's session: its sandboxes, which end with it unless they are kept, and its commands. While the session lives it renews the lease of its
 * sandboxes, so that those of a session that was killed end soon, too.
 */
export class Session {
  readonly commands = new SessionCommands();
  readonly snapshots: OwnSnapshots;
  private readonly members = new Map<string, Member>();
  private readonly connectNow: Connect;
  private readonly onCallEnd: () => void;
  private running = 0;
  private pending = 0;
  private timer: ReturnType<typeof setInterval> | undefined;
  private ended: Promise<void> | undefined;

  /** `onCallEnd` is called after each call of a tool. */
  constructor(connect: Connect, onCallEnd: () => void = () => {}) {
    this.connectNow = connect;
    this.onCallEnd = onCallEnd;
    this.snapshots = new SessionSnapshots(() => this.connection());
  }

  connection(): Promise<SessionConnection> {
    if (this.ended) throw new ToolError("This session has ended.", "Start another one.");
    return this.connectNow();
  }

  /** Number of tools that work now. */
  get calls(): number {
    return this.running;
  }

  async duringCall<T>(call: () => Promise<T>): Promise<T> {
    if (this.running >= MAX_CALLS) throw new ToolError(`${MAX_CALLS} tools work at once in this session.`, "Wait until some have ended.");
    this.running++;
    try {
      return await call();
    } finally {
      this.running--;
      this.onCallEnd();
    }
  }

  all(): readonly Member[] {
    return [...this.members.values()];
  }

  async create({ from, keep = false, env, internet }: CreateOptions): Promise<Sandbox> {
    const [sandbox] = await this.reserve(1, async () => [
      await Sandbox.create({
        ...(await this.connection()),
        ...(from === undefined ? {} : { template: from }),
        ...(env === undefined ? {} : { envs: env }),
        ...(internet === undefined ? {} : { allowInternetAccess: internet }),
        ...(keep && { lifecycle: { onTimeout: "pause" } }),
        timeoutMs: LEASE_MS,
        metadata: { [MARK]: keep ? "kept" : "session" },
      }),
    ]);
    await this.admit(sandbox as Sandbox, keep ? "kept" : "own");
    return sandbox as Sandbox;
  }

  /** Makes copies of a sandbox; they belong to the session as the source does. */
  async fork(source: Member, count: number): Promise<Awaited<ReturnType<Sandbox["fork"]>>> {
    const results = await this.reserve(count, () =>
      source.sandbox.fork({ count, timeoutMs: LEASE_MS, requestTimeoutMs: STATE_REQUEST_MS }),
    );
    for (const { sandbox } of results) if (sandbox) await this.admit(sandbox, source.ownership === "kept" ? "kept" : "own");
    return results;
  }

  /** Connects to a sandbox that another client has made, or that an earlier session has kept. */
  async use(id: string): Promise<void> {
    if (this.members.has(id)) return;
    const options = await this.connection();
    const { metadata } = await Sandbox.getInfo(id, options);
    if (metadata[MARK] === "session") {
      throw new ToolError(`Sandbox ${id} belongs to another session and ends with it.`, "Make one of your own with `create`.");
    }
    const [sandbox] = await this.reserve(1, async () => [await Sandbox.connect(id, { ...options, timeoutMs: BORROWED_MS })]);
    await this.admit(sandbox as Sandbox, "borrowed");
  }

  /** The sandbox that a tool works with: the named one, or the only one. A paused one is resumed. */
  async member(id: string | undefined): Promise<Member> {
    const member = id === undefined ? this.only() : this.members.get(id);
    if (!member)
      throw new ToolError(`This session has no sandbox ${id}.`, "`list` shows its sandboxes; `use` adds one of others by its id.");
    try {
      if (member.ownership === "borrowed") await member.sandbox.resume({ timeoutMs: BORROWED_MS, requestTimeoutMs: STATE_REQUEST_MS });
      else if (member.paused) await member.sandbox.resume({ timeoutMs: LEASE_MS, requestTimeoutMs: STATE_REQUEST_MS });
      member.paused = false;
      return member;
    } catch (error) {
      await this.lookAgain(member, error);
      throw error;
    }
  }

  async remove(id: string): Promise<boolean> {
    const { sandbox } = this.members.get(id) ?? {};
    if (!sandbox) return false;
    await sandbox.kill();
    this.forget(id);
    return true;
  }

  /** After a failure that means that a sandbox does not run: one that has ended is no member any more; one that others have paused is resumed later. */
  async lookAgain(member: Member, failure: unknown): Promise<void> {
    if (!(failure instanceof SandboxEndedError) && !isGone(failure)) return;
    try {
      member.paused = (await member.sandbox.getInfo()).state === "paused";
    } catch (error) {
      if (isGone(error)) this.forget(member.sandbox.sandboxId);
    }
  }

  /** Ends the sandboxes that are not kept, and removes the snapshots without a name. What cannot be ended ends when its lease does. */
  end(): Promise<void> {
    this.ended ??= this.endAll();
    return this.ended;
  }

  private async endAll(): Promise<void> {
    clearInterval(this.timer);
    const own = this.all().filter(({ ownership }) => ownership === "own");
    await Promise.allSettled(own.map(({ sandbox }) => sandbox.kill()));
    this.members.clear();
    await this.snapshots.removeUnnamed(await this.connectNow().catch(() => undefined));
  }

  private only(): Member {
    const [first, ...others] = this.members.values();
    if (!first) throw new ToolError("This session has no sandbox yet.", "Make one with `create`.");
    if (others.length === 0) return first;
    const ids = [...this.members.keys()].join(", ");
    throw new ToolError(`This session has several sandboxes: ${ids}.`, "Say which one in `sandbox`.");
  }

  /** Counts sandboxes that are being made, so that calls at the same time cannot make too many. */
  private async reserve<T>(count: number, make: () => Promise<T>): Promise<T> {
    if (this.members.size + this.pending + count > MAX_SANDBOXES) {
      throw new ToolError(`A session has at most ${MAX_SANDBOXES} sandboxes.`, "End some with `remove`.");
    }
    this.pending += count;
    try {
      return await make();
    } finally {
      this.pending -= count;
    }
  }

  private async admit(sandbox: Sandbox, ownership: Ownership): Promise<void> {
    if (this.ended) {
      if (ownership !== "borrowed") await sandbox.kill();
      throw new ToolError("This session has ended.", "Start another one.");
    }
    this.members.set(sandbox.sandboxId, { sandbox, ownership, paused: false });
    if (this.timer) return;
    this.timer = setInterval(() => this.renew(), RENEW_EVERY_MS);
    this.timer.unref?.();
  }

  private renew(): void {
    for (const member of this.members.values()) {
      if (member.ownership === "borrowed" || member.paused) continue;
      // A renewal that fails is followed by three more before the lease ends.
      member.sandbox.setTimeout(LEASE_MS).catch((error: unknown) => this.lookAgain(member, error));
    }
  }

  private forget(id: string): void {
    this.members.delete(id);
    this.commands.forget(id);
  }
}

const isGone = (error: unknown): boolean => error instanceof NotFoundError && error.reason === "sandbox_not_found";
