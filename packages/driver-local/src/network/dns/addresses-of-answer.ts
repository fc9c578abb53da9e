/** Addresses of one answer that are read. */
const MOST_ADDRESSES = 32;
const HEADER_BYTES = 12;
const TYPE_A = 1;
const CLASS_IN = 1;

/** The IPv4 addresses in a message's answers. Stops at the first record that is malformed. */
export function addressesOfAnswer(bytes: Uint8Array): string[] {
  if (bytes.length < HEADER_BYTES) return [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = HEADER_BYTES;
  for (let i = view.getUint16(4); i > 0; i--) at = endOfName(bytes, at) + 4;
  const found: string[] = [];
  for (let i = view.getUint16(6); i > 0 && found.length < MOST_ADDRESSES; i--) {
    const name = endOfName(bytes, at);
    if (name + 10 > bytes.length) break;
    const length = view.getUint16(name + 8);
    const data = name + 10;
    if (data + length > bytes.length) break;
    if (view.getUint16(name) === TYPE_A && view.getUint16(name + 2) === CLASS_IN && length === 4)
      found.push(bytes.subarray(data, data + 4).join("."));
    at = data + length;
  }
  return found;
}

/** Where a name ends that begins here; beyond the message for a malformed one. */
function endOfName(bytes: Uint8Array, from: number): number {
  for (let at = from; ; ) {
    const length = bytes[at];
    if (length === undefined) return bytes.length;
    if (length >= 0xc0) return at + 2;
    at += 1 + length;
    if (length === 0) return at;
  }
}
