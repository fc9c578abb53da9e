import { ByteBuilder } from "./byte-builder.ts";
import { endOfHead, HeadError, MAX_HEAD_BYTES, parseResponseHead, type ResponseHead } from "./head.ts";
import { HeadMemory } from "./head-memory.ts";

const EMPTY = Buffer.alloc(0);
const behind = (bytes: Buffer, end: number) => (end === bytes.byteLength ? EMPTY : bytes.subarray(end));

/** Reads the heads of answers from a connection's bytes. */
export class ResponseReader {
  /** What follows the head that `read` returned last. */
  rest: Buffer = EMPTY;
  private begun: ByteBuilder | undefined;
  private readonly known = new HeadMemory<ResponseHead>();

  /** The head that ends in `bytes`, of an answer to a `method` request; undefined while it goes on. Throws `HeadError`. */
  read(bytes: Buffer, method: string): ResponseHead | undefined {
    const { begun, known } = this;
    // The meaning of an answer's head depends on the request only for HEAD.
    const isKnowable = method !== "HEAD";
    const again = begun === undefined && isKnowable ? known.recall(bytes) : undefined;
    if (again) {
      this.rest = behind(bytes, known.byteLength);
      return again;
    }
    const from = begun?.byteLength ?? 0;
    begun?.append(bytes);
    const all = begun ? begun.view() : bytes;
    const end = endOfHead(all, from);
    if ((end < 0 ? all.byteLength : end) > MAX_HEAD_BYTES) throw new HeadError(502, "response head too large");
    if (end < 0) {
      if (!begun) {
        this.begun = new ByteBuilder();
        this.begun.append(bytes);
      }
      return undefined;
    }
    this.begun = undefined;
    const response = parseResponseHead(all.toString("latin1", 0, end - 4), method);
    if (isKnowable && response.status >= 200) known.remember(all, end, response);
    this.rest = behind(all, end);
    return response;
  }
}
