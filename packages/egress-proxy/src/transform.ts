import type { EdgeHost, EdgeSecret } from "@boxyard/driver";
import { forwardedRequest, type RequestHead } from "@boxyard/http1";

/** What is done to a request to one host. */
export interface Edit {
  readonly host: EdgeHost | undefined;
  /** The secrets that requests to the host may get. */
  readonly secrets: readonly EdgeSecret[];
}

/**
 * Fields that would make the server send a part of an answer, in which a part of a secret would not be known as such. Nor could a secret be found in an answer
 * in another coding than `identity`.
 */
const PARTIAL = ["range", "if-range"];
const CODING = /^accept-encoding$/i;
const BASIC = /^(basic) +([A-Za-z0-9+/=]+)$/i;

/** The head of a request for the server: placeholders replaced by the secrets that it may get, and the fields that the host's rules set in place of its own. */
export function editedRequest(request: RequestHead, edit: Edit): Uint8Array {
  const { set, drops } = editedParts(request, edit);
  const head = Buffer.from(forwardedRequest(request, undefined, [...drops])).toString("latin1");
  const lines = set.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  // The head ends with an empty line, before which the fields go.
  const own = withSecrets(head.slice(0, -2), secretsFor(request, edit));
  return Buffer.from(`${own}${lines}\r\n`, "latin1");
}

/** A request in the parts in which HTTP/2 has it. */
export interface EditedParts {
  readonly target: string;
  /** Fields of the sandbox's request that do not go on, in lower case. */
  readonly drops: ReadonlySet<string>;
  /** Fields that the request gets. */
  readonly set: readonly (readonly [name: string, value: string])[];
  /** The value that a field of the sandbox's request gets. */
  edited(name: string, value: string): string;
}

export function editedParts(request: Pick<RequestHead, "method" | "target">, edit: Edit): EditedParts {
  const isMasked = masksOf(edit).length > 0;
  const rules = Object.entries(edit.host?.headers ?? {});
  const set: [string, string][] = isMasked ? [...rules.filter(([name]) => !CODING.test(name)), ["Accept-Encoding", "identity"]] : rules;
  const secrets = secretsFor(request, edit);
  return {
    target: inTarget(request.target, secrets),
    drops: new Set([...set.map(([name]) => name.toLowerCase()), ...(isMasked ? PARTIAL : [])]),
    set,
    edited: (name, value) => inValue(name, value, secrets),
  };
}

const secretsFor = (request: Pick<RequestHead, "method" | "target">, { secrets }: Edit) =>
  secrets.filter((secret) => mayGet(request, secret));

/** The values that answers of a host must not bring into the sandbox. */
export const masksOf = ({ host, secrets }: Edit): readonly string[] => [...(host?.masked ?? []), ...secrets.map(({ value }) => value)];

/** Whether a request may get a secret, by its method and its path. A path with encoded or dot segments fits no rule: servers read it in different ways. */
function mayGet({ method, target }: Pick<RequestHead, "method" | "target">, { methods, paths }: EdgeSecret): boolean {
  if (methods && !methods.includes(method)) return false;
  if (!paths) return true;
  const path = target.split("?")[0] ?? "";
  if (/%2e|%2f|%5c|\\|\/\.{1,2}(\/|$)|\/\//i.test(path)) return false;
  return paths.some((rule) => (rule.endsWith("*") ? path.startsWith(rule.slice(0, -1)) : path === rule));
}

/** The first line and the fields of a head with values in place of their placeholders, also where a name and a password are encoded together (RFC 7617). */
function withSecrets(head: string, secrets: readonly EdgeSecret[]): string {
  if (secrets.length === 0) return head;
  const [first = "", ...fields] = head.split("\r\n");
  return [inTarget(first, secrets), ...fields.map((line) => inField(line, secrets))].join("\r\n");
}

const replaced = (text: string, secrets: readonly EdgeSecret[], as: (value: string) => string): string =>
  secrets.reduce((result, { placeholder, value }) => result.replaceAll(placeholder, () => as(value)), text);

const inTarget = (line: string, secrets: readonly EdgeSecret[]): string => replaced(line, secrets, encodeURIComponent);

function inField(line: string, secrets: readonly EdgeSecret[]): string {
  const colon = line.indexOf(":");
  const name = line.slice(0, colon);
  const value = line.slice(colon + 1).trim();
  const edited = inValue(name, value, secrets);
  return edited === value ? line : `${name}: ${edited}`;
}

function inValue(name: string, value: string, secrets: readonly EdgeSecret[]): string {
  if (secrets.length === 0 || /^(host|content-length|transfer-encoding|connection|upgrade)$/i.test(name)) return value;
  const basic = BASIC.exec(value);
  if (!basic) return replaced(value, secrets, (secret) => secret);
  const decoded = Buffer.from(basic[2] ?? "", "base64").toString("latin1");
  const plain = replaced(decoded, secrets, (secret) => secret);
  return plain === decoded ? value : `${basic[1]} ${Buffer.from(plain, "latin1").toString("base64")}`;
}
