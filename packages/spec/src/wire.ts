/* Small parts of the agent's wire (docs/contract/agent.md) that agent, server and clients share. Neutral: they run in browsers too. */

/** Envelopes of the Connect protocol's streams: one byte of flags, four of length (big-endian), then JSON. */
export const FLAG_COMPRESSED = 0x01;
export const FLAG_END = 0x02;
export const ENVELOPE_HEADER_BYTES = 5;

const ENCODER = new TextEncoder();

export function envelope(flags: number, json: string): Uint8Array<ArrayBuffer> {
  const text = ENCODER.encode(json);
  const bytes = new Uint8Array(ENVELOPE_HEADER_BYTES + text.length);
  writeEnvelopeHeader(bytes, flags, text.length);
  bytes.set(text, ENVELOPE_HEADER_BYTES);
  return bytes;
}

export function writeEnvelopeHeader(bytes: Uint8Array, flags: number, length: number): void {
  bytes[0] = flags;
  bytes[1] = length >>> 24;
  bytes[2] = length >>> 16;
  bytes[3] = length >>> 8;
  bytes[4] = length;
}

/** Length of the message that follows this header, in bytes. */
export function envelopeLength(header: Uint8Array): number {
  return new DataView(header.buffer, header.byteOffset).getUint32(1);
}

/** Value of `Authorization`: the agent takes the acting user from Basic authentication; the password is empty. */
export function basicUser(user: string): string {
  let bytes = "";
  for (const byte of ENCODER.encode(`${user}:`)) bytes += String.fromCharCode(byte);
  return `Basic ${btoa(bytes)}`;
}

/** What a signed file URL permits: path, user and expiration exactly as they stand in its query, "" where they don't. */
export interface SignedFile {
  readonly path: string;
  readonly operation: "read" | "write";
  readonly user: string;
  readonly accessToken: string;
  /** Unix seconds; undefined means for ever. */
  readonly expiration?: string | number | undefined;
}

/** The text whose SHA-256 is the signature. */
export function signedFileText({ path, operation, user, accessToken, expiration }: SignedFile): string {
  return `${path}:${operation}:${user}:${accessToken}${expiration === undefined ? "" : `:${expiration}`}`;
}

/** The signature as it stands in the URL, from the hash in base64. */
export const fileSignatureText = (base64: string): string => `v1_${base64.replaceAll("=", "")}`;
