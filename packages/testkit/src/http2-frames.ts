/* Frames of HTTP/2 written by hand (RFC 9113, 4.1), for what no library would send. */

export const FRAME = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goaway: 7, continuation: 9 } as const;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type: number, flags: number, stream: number, body: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.byteLength, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** A length of HPACK with a prefix of seven bits (RFC 7541, 5.1). */
function length(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const bytes = [127];
  let left = value - 127;
  for (; left >= 128; left = Math.floor(left / 128)) bytes.push((left % 128) + 128);
  return Buffer.from([...bytes, left]);
}

const text = (value: string) => Buffer.concat([length(value.length), Buffer.from(value, "latin1")]);

/** A field of HPACK. `kind`: its first byte; 0x40 puts it into the table of the connection. */
export const field = (name: string, value: string, kind = 0): Buffer => Buffer.concat([Buffer.from([kind]), text(name), text(value)]);

/** The fields of a request: GET of `/` from that host, but for `fields`. */
export const requestBlock = (host: string, fields: Record<string, string> = {}): Buffer =>
  Buffer.concat(
    Object.entries({ ":method": "GET", ":scheme": "https", ":authority": host, ":path": "/", ...fields }).map(([name, value]) =>
      field(name, value),
    ),
  );

/** What a client sends first. `settings`: the content of its frame of settings. */
export const preface = (settings?: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(FRAME.settings, 0, 0, settings)]);

/** Calls `onFrame` with each frame's type, stream and content as the pieces come in. */
export function frameReader(onFrame: (type: number, stream: number, body: Buffer) => void): (bytes: Buffer) => void {
  let waiting = Buffer.alloc(0);
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes]);
    while (waiting.byteLength >= 9 && waiting.byteLength >= 9 + waiting.readUIntBE(0, 3)) {
      const size = waiting.readUIntBE(0, 3);
      onFrame(waiting[3] ?? 0, waiting.readUInt32BE(5), waiting.subarray(9, 9 + size));
      waiting = waiting.subarray(9 + size);
    }
  };
}
