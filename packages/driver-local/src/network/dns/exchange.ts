/** One question to one name server. Sockets are made in the machine's own network namespace, one for each question, so each has another source port. */

/** Longest answer that is accepted. */
const MAX_ANSWER_BYTES = 65535;

export interface Exchange {
  readonly server: string;
  readonly port: number;
  readonly query: Uint8Array;
  /** True for the answer to this query; other messages are ignored. */
  readonly accept: (bytes: Uint8Array) => boolean;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The answer over UDP, or undefined: none came in time, the server refused, or the wait was aborted. Never throws. */
export function exchangeUdp(exchange: Exchange): Promise<Uint8Array | undefined> {
  return untilAnswered(exchange, async (resolve, giveUp) => {
    const socket = await Bun.udpSocket({
      connect: { hostname: exchange.server, port: exchange.port },
      socket: {
        data: (_socket, data) => {
          if (exchange.accept(data)) resolve(new Uint8Array(data));
        },
        error: giveUp,
      },
    });
    if (!socket.send(exchange.query)) giveUp();
    return () => socket.close();
  });
}

/** The answer over TCP, with two bytes of length before each message; otherwise as `exchangeUdp`. */
export function exchangeTcp(exchange: Exchange): Promise<Uint8Array | undefined> {
  return untilAnswered(exchange, async (resolve, giveUp) => {
    const reader = new FrameReader(MAX_ANSWER_BYTES);
    const socket = await Bun.connect({
      hostname: exchange.server,
      port: exchange.port,
      socket: {
        open: (opened) => {
          // A query is far smaller than any socket buffer: when one write does not send it whole, the connection is broken.
          if (opened.write(frame(exchange.query)) !== exchange.query.length + 2) giveUp();
        },
        data: (_socket, data) => {
          for (const message of reader.push(data)) if (exchange.accept(message)) resolve(message);
        },
        close: giveUp,
        error: giveUp,
        connectError: giveUp,
      },
    });
    return () => socket.terminate();
  });
}

type Begin = (resolve: (answer: Uint8Array) => void, giveUp: () => void) => Promise<() => void>;

/** Waits for the answer of what `begin` starts. The socket that `begin` opens is closed at the end, also when it is opened after the wait has ended. */
async function untilAnswered({ timeoutMs, signal }: Exchange, begin: Begin): Promise<Uint8Array | undefined> {
  const { promise, resolve } = Promise.withResolvers<Uint8Array | undefined>();
  const giveUp = () => resolve(undefined);
  const timer = setTimeout(giveUp, timeoutMs);
  signal.addEventListener("abort", giveUp, { once: true });
  // A failure (no route, no free descriptor) counts as no answer.
  begin(resolve, giveUp).then((close) => promise.then(close), giveUp);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

/** A message with its length in front. */
export function frame(message: Uint8Array): Uint8Array {
  const framed = new Uint8Array(message.length + 2);
  new DataView(framed.buffer).setUint16(0, message.length);
  framed.set(message, 2);
  return framed;
}

/** Cuts a TCP stream into messages. Holds no more than one incomplete message of `limit` bytes. */
export class FrameReader {
  private readonly limit: number;
  private pending = new Uint8Array(0);
  /** True once a message longer than the limit was announced: nothing after it can be read. */
  overflowed = false;

  constructor(limit: number) {
    this.limit = limit;
  }

  push(data: Uint8Array): Uint8Array[] {
    const messages: Uint8Array[] = [];
    let bytes = new Uint8Array(this.pending.length + data.length);
    bytes.set(this.pending);
    bytes.set(data, this.pending.length);
    while (!this.overflowed && bytes.length >= 2) {
      const length = ((bytes[0] as number) << 8) | (bytes[1] as number);
      if (length > this.limit) this.overflowed = true;
      if (this.overflowed || bytes.length < 2 + length) break;
      messages.push(bytes.slice(2, 2 + length));
      bytes = bytes.subarray(2 + length);
    }
    this.pending = this.overflowed ? new Uint8Array(0) : bytes.slice();
    return messages;
  }
}
