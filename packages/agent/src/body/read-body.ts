import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { after } from "../timers.ts";
import type { BodyClaim } from "./budget.ts";

/** How a body, or a message of it, is read whole. */
export interface BodyRules {
  readonly claim: BodyClaim;
  readonly maxBytes: number;
  /** A client that sends nothing for so long has failed the request. */
  readonly idleMs: number;
  /** So does a client that has not sent the whole body by then, however regularly it sends. */
  readonly wholeMs: number;
}

/** Reason of the error for a client that stopped sending. The rest of its request is not read, so its connection is closed. */
export const BODY_IDLE = "body_idle";

/** The rules for one message of an RPC; `changes` replaces single rules for other bodies. */
export function bodyRules(claim: BodyClaim, changes: Partial<Omit<BodyRules, "claim">> = {}): BodyRules {
  return { claim, maxBytes: LIMITS.messageBytes, idleMs: LIMITS.bodyIdleMs, wholeMs: LIMITS.bodyWholeMs, ...changes };
}

const statedLength = (request: Request) => Number(request.headers.get("content-length") ?? Number.NaN);

/** Whether the Content-Length is small: such a body is read whole, which is quicker than a stream, and is not counted. */
export function isSmall(request: Request): boolean {
  return statedLength(request) <= LIMITS.bodyFreeBytes;
}

/** The whole body. Throws `resource_exhausted` for one above `maxBytes` or without room, `deadline_exceeded` when its client stops sending. */
export async function readBody(request: Request, rules: BodyRules): Promise<Uint8Array> {
  const length = statedLength(request);
  if (length > rules.maxBytes) throw tooLarge(rules.maxBytes);
  // After the time-out the runtime goes on reading until the connection is closed; for so few bytes that is acceptable.
  if (length <= LIMITS.bodyFreeBytes) return new Uint8Array(await within(request.arrayBuffer(), rules.idleMs));
  if (!request.body) return new Uint8Array(0);
  // Bun does not read from the connection before it is asked, so a body that waits here takes no memory.
  await rules.claim.hold(length || 0);
  return readStream(request.body as ReadableStream<Uint8Array>, rules, length || 0);
}

async function readStream(body: ReadableStream<Uint8Array>, rules: BodyRules, length: number): Promise<Uint8Array> {
  const chunks = new ChunkReader(body, rules);
  // One buffer where the size is known, so that the body is never in memory twice.
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
      // Ends the pending read.
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

  /** The next chunk without a bound on the wait, for use between messages. `wholeMs` of the message that begins with it is counted from here. */
  async begin(): Promise<Uint8Array | undefined> {
    const chunk = await this.read();
    this.deadline = performance.now() + this.rules.wholeMs;
    return chunk;
  }

  private async read(): Promise<Uint8Array | undefined> {
    const { done, value } = await this.reader.read();
    return done ? undefined : value;
  }

  /** Cancels the body. Repeatable. */
  end(): void {
    this.reader.cancel().catch(() => {});
  }
}

function within<T>(work: Promise<T>, ms: number): Promise<T> {
  // A small body arrives with its head, so that it is nearly always complete by now.
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
