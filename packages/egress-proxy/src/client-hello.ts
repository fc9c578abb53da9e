/** Longest message that is read: more than any client sends, and what one waiting connection may hold. */
export const MAX_HELLO_BYTES = 16_384;

const RECORD_HEADER = 5;
const RECORD_HANDSHAKE = 22;
const MESSAGE_HEADER = 4;
const MESSAGE_CLIENT_HELLO = 1;
const EXTENSION_SERVER_NAME = 0;
const EXTENSION_PROTOCOLS = 16;
const NAME_HOST = 0;

/** `more`: the message goes on. `bad`: this is no ClientHello, or a longer one than `MAX_HELLO_BYTES`. */
export type Hello =
  | { readonly kind: "more" }
  | { readonly kind: "bad" }
  | { readonly kind: "hello"; readonly serverName: string | undefined; readonly offersHttp2: boolean; readonly offersHttp1: boolean };

const MORE: Hello = { kind: "more" };
const BAD: Hello = { kind: "bad" };

/** Reads fields of known lengths one after another; throws `RangeError` behind the end. */
class Reader {
  private readonly bytes: Uint8Array;
  private at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get isDone(): boolean {
    return this.at === this.bytes.byteLength;
  }

  number(size: 1 | 2): number {
    const bytes = this.take(size);
    return size === 1 ? (bytes[0] as number) : ((bytes[0] as number) << 8) | (bytes[1] as number);
  }

  take(count: number): Uint8Array {
    const end = this.at + count;
    if (end > this.bytes.byteLength) throw new RangeError("behind the end");
    const part = this.bytes.subarray(this.at, end);
    this.at = end;
    return part;
  }

  /** A field with its length before it. */
  vector(lengthSize: 1 | 2): Uint8Array {
    return this.take(this.number(lengthSize));
  }
}

/**
 * The server name in the first bytes that a TLS client sends (RFC 8446, 4.1.2 and 5.1; RFC 6066, 3), and which HTTP it offers (RFC 7301, 3.1): one that says nothing
 * offers HTTP/1.1. The message may be spread over several records. Of an encrypted ClientHello the name is the outer one, which everybody on the way sees.
 */
export function parseClientHello(bytes: Uint8Array): Hello {
  const message = handshakeBytes(bytes);
  if (message === undefined) return BAD;
  if (message.byteLength < MESSAGE_HEADER) return unlessTooLong(bytes);
  if (message[0] !== MESSAGE_CLIENT_HELLO) return BAD;
  const length = ((message[1] as number) << 16) | ((message[2] as number) << 8) | (message[3] as number);
  if (length > MAX_HELLO_BYTES) return BAD;
  if (message.byteLength < MESSAGE_HEADER + length) return unlessTooLong(bytes);
  try {
    return { kind: "hello", ...readHello(message.subarray(MESSAGE_HEADER, MESSAGE_HEADER + length)) };
  } catch (error) {
    if (error instanceof RangeError) return BAD;
    throw error;
  }
}

const unlessTooLong = (bytes: Uint8Array): Hello => (bytes.byteLength > MAX_HELLO_BYTES ? BAD : MORE);

/** The content of the records that have arrived, the last of which may be incomplete; undefined when a record is of another type. */
function handshakeBytes(bytes: Uint8Array): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength; ) {
    if (bytes[at] !== RECORD_HANDSHAKE || (bytes[at + 1] ?? 3) !== 3) return undefined;
    if (at + RECORD_HEADER > bytes.byteLength) break;
    const length = ((bytes[at + 3] as number) << 8) | (bytes[at + 4] as number);
    if (length === 0) return undefined;
    parts.push(bytes.subarray(at + RECORD_HEADER, at + RECORD_HEADER + length));
    at += RECORD_HEADER + length;
  }
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

function readHello(hello: Uint8Array): Omit<Extract<Hello, { kind: "hello" }>, "kind"> {
  const reader = new Reader(hello);
  reader.take(2 + 32);
  reader.vector(1);
  reader.vector(2);
  reader.vector(1);
  const found = { serverName: undefined as string | undefined, offersHttp2: false, offersHttp1: true };
  if (reader.isDone) return found;
  const extensions = new Reader(reader.vector(2));
  while (!extensions.isDone) {
    const type = extensions.number(2);
    const content = extensions.vector(2);
    if (type === EXTENSION_PROTOCOLS) {
      const protocols = protocolsIn(content);
      found.offersHttp2 = protocols.includes("h2");
      found.offersHttp1 = protocols.some((name) => name.startsWith("http/1."));
    }
    if (type !== EXTENSION_SERVER_NAME) continue;
    // Two names could be read in two ways, here and by the server.
    if (found.serverName !== undefined) throw new RangeError("two server names");
    found.serverName = hostIn(content);
  }
  return found;
}

function protocolsIn(content: Uint8Array): string[] {
  const list = new Reader(new Reader(content).vector(2));
  const names: string[] = [];
  while (!list.isDone) names.push(Buffer.from(list.vector(1)).toString("latin1"));
  return names;
}

function hostIn(content: Uint8Array): string {
  const list = new Reader(new Reader(content).vector(2));
  const type = list.number(1);
  const name = list.vector(2);
  if (type !== NAME_HOST || !list.isDone) throw new RangeError("not one host name");
  return Buffer.from(name).toString("latin1");
}
