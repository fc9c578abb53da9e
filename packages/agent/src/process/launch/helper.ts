import { memoryFile, packetSocket, sendPacket } from "../../sys/descriptors.ts";
import { errnoOf } from "../../sys/errno-of.ts";
import { closeQuietly } from "../../sys/native.ts";
import { type LaunchOrder, orderTexts } from "./order.ts";
import { launchFailed, processLimit, refusal, tooLong } from "./refusal.ts";

export interface Launched {
  readonly pid: number;
  /** The status of wait(2); undefined when the helper ended before the command, so that the status is lost. */
  readonly ended: Promise<number | undefined>;
}

/** Longer orders are sent in a file. Launch reads packets of up to twice this size. */
const PACKET_BYTES = 32 * 1024;
/** Longer orders are refused: the kernel accepts 6 MiB of arguments and environment at most, and launch must stay small. */
const MOST_BYTES = 7 * 1024 * 1024;
const EAGAIN = 11;
const ENOMEM = 12;
const EMFILE = 24;
const EPIPE = 32;
const ECONNRESET = 104;
/** Too many descriptors are in flight to launch. */
const ETOOMANYREFS = 109;

interface Pending {
  readonly order: LaunchOrder;
  readonly started: PromiseWithResolvers<Launched>;
  readonly ended: PromiseWithResolvers<number | undefined>;
}

/** A running `launch` (native/guest/launch/launch.c has the protocol), and the commands whose end it has not reported. */
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

  /** Starts `launch`. `onGone` is called when it has ended. Throws `resource_exhausted` at the sandbox's limits, `internal` when it cannot be started. */
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
   * Sends an order. When a promise is returned, the caller may close the order's descriptors. Otherwise nothing was sent: the helper has ended
   * (`gone`), or its queue is full (`full`), because it forks too slowly for the orders, or because root of the sandbox has stopped it.
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
      // The packet holds the id, so that launch can refuse the order when it has no descriptor left for the file.
      return sendPacket(this.fd, texts.subarray(0, texts.indexOf(0) + 1), [...stdio, file]);
    } finally {
      closeQuietly(file);
    }
  }

  private listen(): void {
    const gone = () => this.leave();
    const socket = { data: (_socket: unknown, bytes: Buffer) => this.read(bytes.toString("latin1")), end: gone, close: gone, error: gone };
    // Bun.connect takes ownership of a descriptor; its types lack that.
    Bun.connect({ fd: this.fd, socket } as unknown as Parameters<typeof Bun.connect>[0]).catch(gone);
  }

  /** Handles the lines of a packet. Packets hold whole lines. */
  private read(text: string): void {
    for (const line of text.split("\n")) {
      const [id, what, ...details] = line.split(" ");
      const pending = this.pending.get(Number(id));
      if (pending) this.settle(Number(id), pending, what ?? "", details);
    }
  }

  private settle(id: number, { order, started, ended }: Pending, what: string, details: readonly string[]): void {
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
