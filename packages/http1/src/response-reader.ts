import { ByteBuilder } from "./byte-builder.ts";
import type { Connection } from "./connection.ts";
import { endOfHead, HeadError, MAX_HEAD_BYTES, parseResponseHead, type ResponseHead } from "./head.ts";
import { HeadMemory } from "./head-memory.ts";

const EMPTY = Buffer.alloc(0);
const behind = (bytes: Buffer, end: number) => (end === bytes.byteLength ? EMPTY : bytes.subarray(end));

/** Cuts the heads of the answers to one request out of a connection's bytes. */
export class ResponseReader {
  /** What follows the head that `read` returned last. */
  rest: Buffer = EMPTY;
  private readonly method: string;
  private begun: ByteBuilder | undefined;

  constructor(method: string) {
    this.method = method;
  }

  /** The head that ends in `bytes`, which came in on `connection`; undefined while it goes on. Throws `HeadError`. */
  read(bytes: Buffer, connection: Connection | undefined): ResponseHead | undefined {
    const from = this.begun?.byteLength ?? 0;
    const known = this.memoryOf(connection);
    const again = from === 0 ? known?.recall(bytes) : undefined;
    if (again) {
      this.rest = behind(bytes, known?.byteLength ?? 0);
      return again;
    }
    if (from > 0) this.begun?.append(bytes);
    const all = from > 0 && this.begun ? this.begun.view() : bytes;
    const end = endOfHead(all, from);
    if ((end < 0 ? all.byteLength : end) > MAX_HEAD_BYTES) throw new HeadError(502, "response head too large");
    if (end < 0) {
      this.begun ??= new ByteBuilder();
      if (from === 0) this.begun.append(bytes);
      return undefined;
    }
    this.begun = undefined;
    const response = parseResponseHead(all.toString("latin1", 0, end - 4), this.method);
    if (response.status >= 200) known?.remember(all, end, response);
    this.rest = behind(all, end);
    return response;
  }

  /** What an answer's head means depends on the request in one case only: HEAD. */
  private memoryOf(connection: Connection | undefined): HeadMemory<ResponseHead> | undefined {
    if (!connection || this.method === "HEAD") return undefined;
    connection.answers ??= new HeadMemory();
    return connection.answers;
  }
}
