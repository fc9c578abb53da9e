import { AppError } from "@boxyard/core";

/* The layout of CRIU's images: two numbers that name the kind, then protobuf messages, each with its length in 32 bits before it. */

const HEAD_BYTES = 8;
const LENGTH_BYTES = 4;
/** Low three bits of a tag: how its value is written. */
const WIRE = { number: 0, eight: 1, bytes: 2, four: 5 } as const;

/** One field of a message. */
export interface Field {
  readonly number: number;
  /** The value of a field that is a number. */
  readonly value?: bigint;
  /** The bytes of a field that is a string or a message. */
  readonly bytes?: Buffer;
  /** The whole field as it is written, with its tag. */
  readonly raw: Buffer;
}

/** The messages of an image, in order. Throws what `damaged` makes when it is damaged, `data_loss` by default. */
export function messagesIn(image: Buffer, damaged: () => AppError = damagedImage): Buffer[] {
  const messages: Buffer[] = [];
  for (let at = HEAD_BYTES; at < image.length; ) {
    if (at + LENGTH_BYTES > image.length) throw damaged();
    const end = at + LENGTH_BYTES + image.readUInt32LE(at);
    if (end > image.length) throw damaged();
    messages.push(image.subarray(at + LENGTH_BYTES, end));
    at = end;
  }
  return messages;
}

/** An image of the same kind with other messages. */
export function withMessages(image: Buffer, messages: readonly Buffer[]): Buffer {
  const parts = messages.flatMap((message) => {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32LE(message.length);
    return [length, message];
  });
  return Buffer.concat([image.subarray(0, HEAD_BYTES), ...parts]);
}

/** The fields of an image's first message, up to the first of number `last`. `start` is the beginning of the image, as far as these fields. */
export const firstFieldsIn = (start: Buffer, last: number): Field[] => fieldsIn(start.subarray(HEAD_BYTES + LENGTH_BYTES), last);

/** The fields of a message, in order, up to the first of number `last`; repeated ones repeat. Throws `data_loss` when it is damaged. */
export function fieldsIn(message: Buffer, last?: number): Field[] {
  const fields: Field[] = [];
  for (let at = 0; at < message.length; ) {
    const tag = varintAt(message, at);
    const [number, wire] = [Number(tag.value >> 3n), Number(tag.value & 7n)];
    const value = wire === WIRE.number || wire === WIRE.bytes ? varintAt(message, tag.end) : undefined;
    const fixed = wire === WIRE.eight ? 8 : wire === WIRE.four ? 4 : undefined;
    if (value === undefined && fixed === undefined) throw damagedImage();
    const bodyAt = value?.end ?? tag.end;
    const end = wire === WIRE.bytes ? bodyAt + Number(value?.value) : bodyAt + (fixed ?? 0);
    if (end > message.length) throw damagedImage();
    const raw = message.subarray(at, end);
    if (wire === WIRE.bytes) fields.push({ number, bytes: message.subarray(bodyAt, end), raw });
    else fields.push({ number, ...(value && { value: value.value }), raw });
    if (number === last) break;
    at = end;
  }
  return fields;
}

/** A field that is a number, as it is written. */
export const numberField = (number: number, value: bigint): Buffer => Buffer.concat([varint(BigInt(number << 3)), varint(value)]);

/** A field that is a string or a message, as it is written. */
export const bytesField = (number: number, bytes: Buffer): Buffer =>
  Buffer.concat([varint(BigInt((number << 3) | WIRE.bytes)), varint(BigInt(bytes.length)), bytes]);

/** The number in a field of a message; 0 when the message has no such field. */
export const numberIn = (fields: readonly Field[], number: number): bigint => fields.find((field) => field.number === number)?.value ?? 0n;

/** The string or message in a field of a message; undefined when the message has no such field. */
export const bytesIn = (fields: readonly Field[], number: number): Buffer | undefined =>
  fields.find((field) => field.number === number)?.bytes;

function varintAt(bytes: Buffer, start: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  for (let at = start, shift = 0n; ; at++, shift += 7n) {
    const byte = bytes[at];
    if (byte === undefined || shift > 63n) throw damagedImage();
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return { value, end: at + 1 };
  }
}

/** A number as protobuf writes it: seven bits in a byte, the lowest first. */
export function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let left = value;
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Buffer.from([...bytes, Number(left)]);
}

const damagedImage = () => new AppError("data_loss", "An image of the sandbox's processes is damaged", { reason: "bad_snapshot" });
