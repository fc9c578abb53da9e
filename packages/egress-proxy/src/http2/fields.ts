import type { Edit } from "../transform.ts";
import { editedParts, masksOf } from "../transform.ts";

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

/** Coding of messages in a stream of gRPC: the same as of whole answers, which could not be searched for secrets. */
const GRPC_CODING = "grpc-accept-encoding";

/** A request as its server gets it: with what the rules of its host set, and with secrets in place of their placeholders. */
export function editedFields(request: RequestFields, host: string, edit: Edit): FieldList {
  const { target, drops, set, edited } = editedParts(request, edit);
  const isMasked = masksOf(edit).length > 0;
  const list = emptyList();
  Object.assign(list, { ":method": request.method, ":scheme": "https", ":authority": host, ":path": target });
  for (const [name, value] of request.fields)
    if (!drops.has(name) && !(isMasked && name === GRPC_CODING)) add(list, name, edited(name, value));
  for (const [name, value] of set) add(list, name.toLowerCase(), value);
  return list;
}

/** The fields of an answer, or those behind it, as the client gets them. */
export function answerFields(raw: readonly string[], keeps: (name: string) => boolean, masked: (text: string) => string): FieldList {
  const list = emptyList();
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const [name = "", value = ""] = [raw[i], raw[i + 1]];
    if (OF_CONNECTION.has(name) || !keeps(name)) continue;
    if (name.startsWith(":")) list[name] = value;
    else add(list, masked(name), masked(value));
  }
  return list;
}

/** Without a prototype: a sandbox or a server may name a field `__proto__`. */
const emptyList = (): FieldList => Object.create(null) as FieldList;

function add(list: FieldList, name: string, value: string): void {
  const before = list[name];
  list[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
}
