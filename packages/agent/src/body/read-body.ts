import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { after } from "../timers.ts";
import type { BodyClaim } from "./budget.ts";

/** How a body, or a message of it, is read whole. */
export interface BodyRules {
  readonly claim: BodyClaim;
  readonly maxBytes: number;
  /** A client that sends nothing for so long is given up. */
  readonly idleMs: number;
  /** One that has not sent everything by then is given up too, however little it sends at a time. */
  readonly wholeMs: number;
}

/** Reason of the failure of a client that stopped sending: nobody will read the rest, so its connection is of no more use. */
export const BODY_IDLE = "body_idle";

/** The rules for one message of an RPC; others say what differs. */
export function bodyRules(claim: BodyClaim, changes: Partial<Omit<BodyRules, "claim">> = {}): BodyRules {
  return { claim, maxBytes: LIMITS.messageBytes, idleMs: LIMITS.bodyIdleMs, wholeMs: LIMITS.bodyWholeMs, ...changes };
}

const statedLength = (request: Request) => Number(request.headers.get("content-length") ?? Number.NaN);

/** Whether a body says that it is small: then it is quicker to read whole than as a stream, and is not counted. */
export function isSmall(request: Request): boolean {
  return statedLength(request) <= LIMITS.bodyFreeBytes;
}

/** The whole body. Throws `resource_exhausted` for one above `maxBytes` or without room, `deadline_exceeded` when its client stops sending. */
export async function readBody(request: Request, rules: BodyRules): Promise<Uint8Array> {
  const length = statedLength(request);
  if (length > rules.maxBytes) throw tooLarge(rules.maxBytes);
  // It goes on when it is given up, until the connection is closed for that; so little may.
  if (length <= LIMITS.bodyFreeBytes) return new Uint8Array(await within(request.arrayBuffer(), rules.idleMs));
  if (!request.body) return new Uint8Array(0);
  // Bun does not read from the connection before it is asked, so a body that waits here takes no memory.
  await rules.claim.hold(length || 0);
  return readStream(request.body as ReadableStream<Uint8Array>, rules, length || 0);
}

async function readStream(body: ReadableStream<Uint8Array>, rules: BodyRules, length: number): Promise<Uint8Array> {
  const chunks = new ChunkReader(body, rules);
  // Of one piece where its size is known, so that it is never there twice.
  let whole = Buffer.allocUnsafeSlow(length);
  let total = 0;
  try {
    for (let chunk = await chunks.next(); chunk; chunk = await chunks.next()) {
      const end = total + chunk.length;
      if (end > rules.maxBytes) throw tooLarge(rules.maxBytes);
      if (end > whole.length) {
        const size = Math.min(rules.maxBytes, Math.max(end, whole.length * 2));
        await rules.claim.hold(size);
        whole = Buffer.concat([whole.subarray(0, total)], size);
      }
      whole.set(chunk, total);
      total = end;
    }
  } finally {
    chunks.end();
  }
  return whole.subarray(0, total);
}

/** The chunks of a body, with a bound on the time that each and that all of them take. */
export class ChunkReader {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private readonly rules: Pick<BodyRules, "idleMs" | "wholeMs">;
  private deadline: number;

  constructor(body: ReadableStream<Uint8Array>, rules: Pick<BodyRules, "idleMs" | "wholeMs">) {
    this.reader = body.getReader();
    this.rules = rules;
    this.deadline = performance.now() + rules.wholeMs;
  }

  /** The next chunk, undefined at the end. Throws `deadline_exceeded` when it does not come in time. */
  async next(): Promise<Uint8Array | undefined> {
    const left = Math.max(0, Math.min(this.rules.idleMs, this.deadline - performance.now()));
    let isLate = false;
    const cancel = after(left, () => {
      isLate = true;
      // Ends the read that waits.
      this.end();
    });
    try {
      const chunk = await this.read();
      if (isLate) throw idle();
      return chunk;
    } finally {
      cancel();
    }
  }

  /** The same however long it takes: between messages. The time of the message that it begins is counted from here. */
  async begin(): Promise<Uint8Array | undefined> {
    const chunk = await this.read();
    this.deadline = performance.now() + this.rules.wholeMs;
    return chunk;
  }

  private async read(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.reader.read();
    return done ? undefined : value;
  }

  /** Nobody reads on. Repeatable. */
  end(): void {
    this.reader.cancel().catch(() => {});
  }
}

function within<T>(work: Promise<T>, ms: number): Promise<T> {
  // A small body comes with its head, so it is nearly always there.
  if (Bun.peek.status(work) === "fulfilled") return work;
  return new Promise((resolve, reject) => {
    const cancel = after(ms, () => reject(idle()));
    work.then(resolve, reject).finally(cancel);
  });
}

function idle(): AppError {
  return new AppError("deadline_exceeded", "the rest of the request did not come in time", { reason: BODY_IDLE });
}

function tooLarge(maxBytes: number): AppError {
  return new AppError("resource_exhausted", `the body is more than the limit of ${maxBytes} bytes`, { reason: "too_large" });
}
