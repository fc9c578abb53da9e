import { memoryFile, packetSocket, sendPacket } from "../../sys/descriptors.ts";
import { errnoOf } from "../../sys/errno-of.ts";
import { closeQuietly } from "../../sys/native.ts";
import { type LaunchOrder, orderTexts } from "./order.ts";
import { launchFailed, processLimit, refusal, tooLong } from "./refusal.ts";

export interface Launched {
  readonly pid: number;
  /** The raw wait status; undefined when nobody can tell any more, since the helper itself has ended. */
  readonly ended: Promise<number | undefined>;
}

/** Longer texts travel in a file. Launch reads packets of up to twice this. */
const PACKET_BYTES = 32 * 1024;
/** The kernel takes 6 MiB of arguments and environment at most; launch must not become large with what it would refuse. */
const MOST_BYTES = 7 * 1024 * 1024;
const EAGAIN = 11;
const ENOMEM = 12;
const EMFILE = 24;
const EPIPE = 32;
const ECONNRESET = 104;
/** Too many descriptors under way to launch. */
const ETOOMANYREFS = 109;

interface Pending {
  readonly order: LaunchOrder;
  readonly started: PromiseWithResolvers<Launched>;
  readonly ended: PromiseWithResolvers<number | undefined>;
}

/** A running `launch` (images/guest/launch/launch.c has the protocol), and what it has been asked for and not yet told the end of. */
export class Helper {
  private readonly fd: number;
  private readonly pending = new Map<number, Pending>();
  private lastId = 0;
  private isGone = false;
  private readonly onGone: () => void;

  private constructor(fd: number, onGone: () => void) {
    this.fd = fd;
    this.onGone = onGone;
  }

  /** Throws `resource_exhausted` at the sandbox's limits, `internal` when there is no helper to be started. */
  static start(path: string, onGone: () => void): Helper {
    const ends = packetSocket();
    if (!ends) throw processLimit();
    const [ours, theirs] = ends;
    try {
      Bun.spawn({ cmd: [path], stdio: [theirs, "ignore", "ignore"], env: {}, cwd: "/" }).unref();
    } catch (error) {
      closeQuietly(ours);
      const code = errnoOf(error);
      throw code === "EAGAIN" || code === "ENOMEM" ? processLimit(error) : launchFailed("its helper does not run", error);
    } finally {
      closeQuietly(theirs);
    }
    const helper = new Helper(ours, onGone);
    helper.listen();
    return helper;
  }

  /**
   * Asks for a command; what the order names may be closed when a promise is returned. Otherwise nothing was taken: the helper has gone, or
   * its queue is full now, because more is started at once than it forks in that time, or because somebody inside has stopped it.
   */
  ask(order: LaunchOrder, stdio: readonly [number, number, number]): Promise<Launched> | "gone" | "full" {
    if (this.isGone) return "gone";
    const id = ++this.lastId;
    const errno = this.send(orderTexts(id, order), stdio);
    if (errno === EPIPE || errno === ECONNRESET) {
      this.leave();
      return "gone";
    }
    if (errno === EAGAIN) return "full";
    if (errno === EMFILE || errno === ENOMEM || errno === ETOOMANYREFS) throw processLimit();
    if (errno !== 0) throw launchFailed(`its helper cannot be asked (errno ${errno})`);
    const pending = { order, started: Promise.withResolvers<Launched>(), ended: Promise.withResolvers<number | undefined>() };
    this.pending.set(id, pending);
    return pending.started.promise;
  }

  private send(texts: Uint8Array, stdio: readonly [number, number, number]): number {
    if (texts.length > MOST_BYTES) throw tooLong();
    if (texts.length <= PACKET_BYTES) return sendPacket(this.fd, texts, stdio);
    const file = memoryFile(texts);
    if (file === undefined) throw processLimit();
    try {
      // The id, for the answer to be found should the file be lost on the way: launch may have no descriptor left for it.
      return sendPacket(this.fd, texts.subarray(0, texts.indexOf(0) + 1), [...stdio, file]);
    } finally {
      closeQuietly(file);
    }
  }

  private listen(): void {
    const gone = () => this.leave();
    const socket = { data: (_socket: unknown, bytes: Buffer) => this.read(bytes.toString("latin1")), end: gone, close: gone, error: gone };
    // Bun takes descriptors, which are its own then; its types do not say so.
    Bun.connect({ fd: this.fd, socket } as unknown as Parameters<typeof Bun.connect>[0]).catch(gone);
  }

  /** Packets are whole lines. */
  private read(text: string): void {
    for (const line of text.split("\n")) {
      const [id, what, ...details] = line.split(" ");
      const pending = this.pending.get(Number(id));
      if (pending) this.hear(Number(id), pending, what ?? "", details);
    }
  }

  private hear(id: number, { order, started, ended }: Pending, what: string, details: readonly string[]): void {
    if (what === "started") {
      started.resolve({ pid: Number(details[0]), ended: ended.promise });
      return;
    }
    this.pending.delete(id);
    if (what === "ended") ended.resolve(Number(details[0]));
    else started.reject(refusal(details[0] ?? "", Number(details[1]), order));
  }

  private leave(): void {
    if (this.isGone) return;
    this.isGone = true;
    for (const { started, ended } of this.pending.values()) {
      started.reject(launchFailed("its helper has ended"));
      ended.resolve(undefined);
    }
    this.pending.clear();
    this.onGone();
  }
}
