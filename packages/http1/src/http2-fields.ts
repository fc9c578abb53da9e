/** A list of fields as the library gives and takes it. */
export type FieldList = Record<string, string | string[]>;

export interface RequestFields {
  readonly method: string;
  readonly target: string;
  /** Every host that the request names. */
  readonly hosts: readonly string[];
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** Fields of one connection (RFC 9113, 8.2.2), and those that frame a message in HTTP/1.1. */
const OF_CONNECTION = new Set([
  ...[
    "connection",
    "keep-alive",
    "proxy-connection",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "proxy-authorization",
    "proxy-authenticate",
  ],
]);
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** No space and nothing beyond ASCII: a server that passes the request on in HTTP/1.1 must read the same target. */
const TARGET = /^(\/[\x21-\x7e]*|\*)$/;
const METHOD = /^[A-Z]{1,32}$/;

/** A request's fields from `name, value, name, value, …`; undefined for a request that servers could read in two ways, or that opens a tunnel. */
export function requestFields(raw: readonly string[]): RequestFields | undefined {
  const pseudo = new Map<string, string>();
  const fields: [string, string][] = [];
  const hosts: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = "", value = ""] = [raw[i], raw[i + 1]];
    if (name.startsWith(":")) {
      if (pseudo.has(name)) return undefined;
      pseudo.set(name, value);
    } else if (!NAME.test(name) || !VALUE.test(value)) return undefined;
    else if (name === "host") hosts.push(value);
    else if (name === "te" ? value === "trailers" : !OF_CONNECTION.has(name)) fields.push([name, value]);
  }
  const method = pseudo.get(":method") ?? "";
  const target = pseudo.get(":path") ?? "";
  const authority = pseudo.get(":authority");
  if (authority !== undefined) hosts.push(authority);
  if (!METHOD.test(method) || method === "CONNECT" || !TARGET.test(target) || pseudo.has(":protocol")) return undefined;
  return { method, target, hosts, fields };
}

/** The fields of an answer, or those behind it, as the client gets them. */
export function answerFields(raw: readonly string[], keeps: (name: string) => boolean, masked: (text: string) => string): FieldList {
  const list = emptyFields();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = "", value = ""] = [raw[i], raw[i + 1]];
    if (OF_CONNECTION.has(name) || !keeps(name)) continue;
    if (name.startsWith(":")) list[name] = value;
    else addField(list, masked(name), masked(value));
  }
  return list;
}

/** Without a prototype: a sandbox or a server may name a field `__proto__`. */
export const emptyFields = (): FieldList => Object.create(null) as FieldList;

export function addField(list: FieldList, name: string, value: string): void {
  const before = list[name];
  list[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
}
