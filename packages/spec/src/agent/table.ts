/*
 * Shape of the tables that `tools/generate/agent-codec.ts` makes from the protos. They say how each message looks in proto3 JSON; the
 * agent's generic codec walks them. In memory a message is a plain object with lowerCamelCase members:
 *
 * - a plain scalar or enum is always there after decoding (its default when the sender left it out);
 * - `optional` fields, message fields and members of a oneof are undefined when absent; of a oneof at most one is set;
 * - repeated fields are arrays, maps are objects, never undefined;
 * - int64 is a `number` (every size and count here is below 2^53), bytes a `Uint8Array`, a Timestamp `{seconds, nanos}`;
 * - an enum is the name of its value, or a number where the sender used one without a name.
 */

export type ScalarKind = "string" | "bytes" | "bool" | "int32" | "uint32" | "int64" | "timestamp";

/** `single`: there is always a value. `optional`: may be absent. `repeated`: a list. `map`: its keys are strings. */
export type Cardinality = "single" | "optional" | "repeated" | "map";

/** Names of an enum's values by number. */
export interface EnumTable {
  readonly names: Readonly<Record<number, string>>;
}

export interface FieldTable {
  /** lowerCamelCase, as written to the wire and in memory. */
  readonly name: string;
  /** The proto's own spelling, accepted as well. */
  readonly protoName: string;
  readonly type: ScalarKind | EnumTable | MessageTable;
  readonly cardinality: Cardinality;
  /** Name of the oneof it is a member of. */
  readonly oneof?: string;
}

export interface MessageTable<T = unknown> {
  readonly name: string;
  readonly fields: readonly FieldTable[];
  /** Types only, never set. */
  readonly type?: T;
}

export type MethodKind = "unary" | "server_stream" | "client_stream";

export interface MethodTable<K extends MethodKind, I, O> {
  readonly kind: K;
  readonly input: MessageTable<I>;
  readonly output: MessageTable<O>;
  /** Types only, never set. */
  readonly types?: readonly [I, O];
}

/** Seconds since 1970 and nanoseconds within the second, 0 to 999,999,999. */
export interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

export function field(name: string, protoName: string, type: FieldTable["type"], cardinality: Cardinality, oneof?: string): FieldTable {
  return oneof === undefined ? { name, protoName, type, cardinality } : { name, protoName, type, cardinality, oneof };
}

export function message<T>(name: string, fields: readonly FieldTable[]): MessageTable<T> {
  return { name, fields };
}

export function method<K extends MethodKind, I, O>(kind: K, input: MessageTable<I>, output: MessageTable<O>): MethodTable<K, I, O> {
  return { kind, input, output };
}
