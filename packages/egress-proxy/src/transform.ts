import type { EdgeHost, EdgeSecret } from "@boxyard/driver";
import { forwardedRequest, type RequestHead } from "@boxyard/http1";

/** What is done to a request to one host. */
export interface Edit {
  readonly host: EdgeHost | undefined;
  /** The secrets that requests to the host may get. */
  readonly secrets: readonly EdgeSecret[];
}

/** Fields that would make the server send a part of an answer, in which a part of a secret would not be known as such. */
const PARTIAL = ["range", "if-range"];
/** An answer in another coding could not be searched for secrets. */
const CODING = "accept-encoding";
const BASIC = /^(basic) +([A-Za-z0-9+/=]+)$/i;

/** The head of a request for the server: placeholders replaced by the secrets that it may get, and the fields that the host's rules set in place of its own. */
export function editedRequest(request: RequestHead, { host, secrets }: Edit): Uint8Array {
  const set = Object.entries(host?.headers ?? {});
  const isMasked = masksOf({ host, secrets }).length > 0;
  const dropped = [...set.map(([name]) => name.toLowerCase()), ...(isMasked ? [...PARTIAL, CODING] : [])];
  const head = Buffer.from(forwardedRequest(request, undefined, dropped)).toString("latin1");
  const lines = set.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  // The head ends with an empty line, before which the fields go.
  const own = withSecrets(
    head.slice(0, -2),
    secrets.filter((secret) => mayGet(request, secret)),
  );
  return Buffer.from(`${own}${lines}${isMasked ? "Accept-Encoding: identity\r\n" : ""}\r\n`, "latin1");
}

/** The values that answers of a host must not bring into the sandbox. */
export const masksOf = ({ host, secrets }: Edit): readonly string[] => [...(host?.masked ?? []), ...secrets.map(({ value }) => value)];

/** Whether a request may get a secret, by its method and its path. A path with encoded or dot segments fits no rule: servers read it in different ways. */
function mayGet({ method, target }: RequestHead, { methods, paths }: EdgeSecret): boolean {
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
  if (/^(host|content-length|transfer-encoding|connection|upgrade)$/i.test(line.slice(0, colon))) return line;
  const value = line.slice(colon + 1).trim();
  const basic = BASIC.exec(value);
  if (!basic) return replaced(line, secrets, (secret) => secret);
  const decoded = Buffer.from(basic[2] ?? "", "base64").toString("latin1");
  const plain = replaced(decoded, secrets, (secret) => secret);
  return plain === decoded ? line : `${line.slice(0, colon)}: ${basic[1]} ${Buffer.from(plain, "latin1").toString("base64")}`;
}
