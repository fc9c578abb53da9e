import { AppError } from "@boxyard/core";
import type { EnumTable, FieldTable, MessageTable, Timestamp } from "@boxyard/spec/agent";
import { parseJson } from "../body/json.ts";

/*
 * Proto3 JSON by table (`spec/src/agent/table.ts`): decoding takes lowerCamelCase and the proto's own names, numbers for enums, strings
 * or numbers for integers, standard and URL-safe base64; it ignores unknown members and null, and refuses everything else with
 * `invalid_argument` and the path of the member. Encoding leaves defaults out. Depth is bounded by the tables, which are not recursive.
 */

/** Decodes a message. An empty body is the empty message. Throws `invalid_argument` with the path of the wrong member. */
export function decodeMessage<T>(table: MessageTable<T>, body: Uint8Array): T {
  if (body.length === 0) return readMessage(table, {}, table.name) as T;
  let value: unknown;
  try {
    value = parseJson(body);
  } catch (error) {
    throw new AppError("invalid_argument", `${table.name}: the body is not JSON in UTF-8`, { reason: "bad_json", cause: error });
  }
  return readMessage(table, value, table.name) as T;
}

/** Encodes a message as JSON text. */
export function encodeMessage<T>(table: MessageTable<T>, message: T): string {
  return JSON.stringify(writeMessage(table, message as Record<string, unknown>));
}

function bad(path: string, expected: string): AppError {
  return new AppError("invalid_argument", `${path} must be ${expected}`, { reason: "bad_field" });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isTable(type: FieldTable["type"]): type is MessageTable {
  return typeof type === "object" && "fields" in type;
}

function readMessage(table: MessageTable, value: unknown, path: string): Record<string, unknown> {
  if (!isObject(value)) throw bad(path, "an object");
  const message: Record<string, unknown> = {};
  let oneofs: Map<string, string> | undefined;
  for (const field of table.fields) {
    const given = Object.hasOwn(value, field.name)
      ? value[field.name]
      : Object.hasOwn(value, field.protoName)
        ? value[field.protoName]
        : null;
    const read = readField(field, given, path);
    if (read === undefined) continue;
    if (field.oneof !== undefined) {
      oneofs ??= new Map();
      const other = oneofs.get(field.oneof);
      if (other !== undefined) throw bad(path, `given either '${other}' or '${field.name}', not both`);
      oneofs.set(field.oneof, field.name);
    }
    message[field.name] = read;
  }
  return message;
}

function readField(field: FieldTable, value: unknown, owner: string): unknown {
  const absent = value === null || value === undefined;
  switch (field.cardinality) {
    case "optional":
      return absent ? undefined : readValue(field.type, value, `${owner}.${field.name}`);
    case "single":
      return absent ? defaultOf(field.type) : readValue(field.type, value, `${owner}.${field.name}`);
    case "repeated": {
      if (absent) return [];
      const path = `${owner}.${field.name}`;
      if (!Array.isArray(value)) throw bad(path, "an array");
      return value.map((item, index) => readValue(field.type, item, `${path}[${index}]`));
    }
    case "map": {
      const entries: Record<string, unknown> = Object.create(null);
      if (absent) return entries;
      const path = `${owner}.${field.name}`;
      if (!isObject(value)) throw bad(path, "an object");
      for (const key of Object.keys(value)) entries[key] = readValue(field.type, value[key], `${path}['${key}']`);
      return entries;
    }
  }
}

function readValue(type: FieldTable["type"], value: unknown, path: string): unknown {
  if (typeof type === "object") return isTable(type) ? readMessage(type, value, path) : readEnum(type, value, path);
  switch (type) {
    case "string":
      if (typeof value !== "string") throw bad(path, "a string");
      return value;
    case "bool":
      if (typeof value !== "boolean") throw bad(path, "true or false");
      return value;
    case "bytes":
      return readBytes(value, path);
    case "int32":
      return readInteger(value, path, -0x8000_0000, 0x7fff_ffff);
    case "uint32":
      return readInteger(value, path, 0, 0xffff_ffff);
    case "int64":
      return readInteger(value, path, Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    case "timestamp":
      return readTimestamp(value, path);
  }
}

function readInteger(value: unknown, path: string, min: number, max: number): number {
  const number = typeof value === "string" && /^-?\d{1,20}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isInteger(number) || number < min || number > max) {
    throw bad(path, `an integer from ${min} to ${max}`);
  }
  return number;
}

function readBytes(value: unknown, path: string): Uint8Array {
  if (typeof value !== "string") throw bad(path, "base64 text");
  const bytes = Buffer.from(value, "base64");
  // The decoder skips characters that are not base64, so a wrong text gives fewer bytes than its length implies.
  let length = value.length;
  while (length > 0 && value.length - length < 2 && value[length - 1] === "=") length--;
  if (length % 4 === 1 || bytes.length !== Math.floor((length * 3) / 4)) throw bad(path, "base64 text");
  return bytes;
}

function readEnum(table: EnumTable, value: unknown, path: string): string | number {
  if (typeof value === "string") {
    for (const number in table.names) if (table.names[number] === value) return value;
    throw bad(path, `one of ${Object.values(table.names).join(", ")}`);
  }
  const number = readInteger(value, path, -0x8000_0000, 0x7fff_ffff);
  return table.names[number] ?? number;
}

const TIMESTAMP = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** RFC 3339 to seconds and nanoseconds; undefined when it is not one. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = TIMESTAMP.exec(text);
  if (!match) return undefined;
  const seconds = Date.parse(`${match[1]}${match[3]}`) / 1000;
  return Number.isNaN(seconds) ? undefined : { seconds, nanos: Number((match[2] ?? "").padEnd(9, "0")) };
}

function readTimestamp(value: unknown, path: string): Timestamp {
  const time = typeof value === "string" ? parseTimestamp(value) : undefined;
  if (!time) throw bad(path, "a time as RFC 3339 writes it");
  return time;
}

function defaultOf(type: FieldTable["type"]): unknown {
  if (typeof type === "object") return isTable(type) ? undefined : (type.names[0] ?? 0);
  if (type === "string") return "";
  if (type === "bool") return false;
  if (type === "bytes") return new Uint8Array(0);
  return 0;
}

function writeMessage(table: MessageTable, message: Record<string, unknown>): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const field of table.fields) {
    const value = message[field.name];
    if (value === undefined || value === null) continue;
    switch (field.cardinality) {
      case "optional":
        out[field.name] = writeValue(field.type, value);
        break;
      case "single":
        if (!isDefault(field.type, value)) out[field.name] = writeValue(field.type, value);
        break;
      case "repeated":
        if ((value as unknown[]).length > 0) out[field.name] = (value as unknown[]).map((item) => writeValue(field.type, item));
        break;
      case "map": {
        const entries = Object.entries(value as Record<string, unknown>);
        if (entries.length > 0) out[field.name] = Object.fromEntries(entries.map(([key, item]) => [key, writeValue(field.type, item)]));
        break;
      }
    }
  }
  return out;
}

function isDefault(type: FieldTable["type"], value: unknown): boolean {
  if (type === "bytes") return (value as Uint8Array).length === 0;
  return value === defaultOf(type);
}

function writeValue(type: FieldTable["type"], value: unknown): unknown {
  if (typeof type === "object") return isTable(type) ? writeMessage(type, value as Record<string, unknown>) : value;
  if (type === "int64") return String(value);
  if (type === "bytes") return base64Of(value as Uint8Array);
  if (type === "timestamp") return formatTimestamp(value as Timestamp);
  return value;
}

/** Standard base64 with padding, no copy of the bytes. */
export function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** RFC 3339 in UTC with no, three, six or nine digits after the point, as proto3 JSON says. */
export function formatTimestamp(time: Timestamp): string {
  const whole = new Date(time.seconds * 1000).toISOString().slice(0, 19);
  if (time.nanos === 0) return `${whole}Z`;
  const digits = String(time.nanos).padStart(9, "0");
  return `${whole}.${digits.endsWith("000000") ? digits.slice(0, 3) : digits.endsWith("000") ? digits.slice(0, 6) : digits}Z`;
}
