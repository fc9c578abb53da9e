import { FieldNames, NOTABLE, type RequestHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";

export interface SandboxTarget {
  readonly kind: "sandbox";
  readonly sandboxId: string;
  readonly port: number;
  /** True when the host name of the request is that of the port. */
  readonly isByHost?: boolean;
  /** Set when the path names the sandbox: the target without that part, which the sandbox gets. */
  readonly innerTarget?: string;
}

/** What a request on the one port is for. */
export type Target =
  | { readonly kind: "preflight" }
  | SandboxTarget
  | { readonly kind: "signed-file" }
  | { readonly kind: "redirect"; readonly location: string }
  | { readonly kind: "bad"; readonly text: string }
  | { readonly kind: "api" };

/** A key of this platform, which must never reach a sandbox. Other values of the same header may be keys of programs in sandboxes. */
const PLATFORM_KEY = /^e2b_[0-9a-f]+$/;

/** Routing headers. */
const marked = /^(svc|e2b)-sandbox-(id|port)$/;

/** Names of fields for a server that passes requests on to another one as they are. */
export const FORWARDED_FIELDS = new FieldNames({ marked });

/** Names of fields that the reader of request heads marks or drops. */
export const CLIENT_FIELDS = new FieldNames({
  marked,
  guarded: { name: "x-api-key", isDropped: (value) => PLATFORM_KEY.test(value) },
});

const bad = (text: string): Target => ({ kind: "bad", text });

/** Finds what a request is for (docs/decisions.md, Dispatch): preflight, routing headers, host name, path, signed file, and the API otherwise. */
export function dispatch(request: RequestHead): Target {
  const { derived } = request;
  derived.own ??= find(request);
  return derived.own as Target;
}

function find(request: RequestHead): Target {
  if (request.method === "OPTIONS" && request.fields.lower.includes("access-control-request-method")) return { kind: "preflight" };
  const { derivedOfFields } = request;
  derivedOfFields.own ??= { to: byHeaders(request) };
  return (
    (derivedOfFields.own as { readonly to: Target | undefined }).to ??
    byHost(request.host) ??
    byPath(request.target) ??
    bySignature(request) ?? { kind: "api" }
  );
}

function routingHeader(request: RequestHead, ours: string, theirs: string): string | undefined | Target {
  const one = request.fields.all(ours);
  const other = request.fields.all(theirs);
  const first = one[0] ?? other[0];
  if (first === undefined || one.length + other.length === 1) return first;
  const values = [...one, ...other];
  // Both spellings may be sent if they agree: no reader may prefer one of two values.
  return values.every((value) => value === first) ? first : bad("conflicting routing headers");
}

function byHeaders(request: RequestHead): Target | undefined {
  if (!request.fields.has(NOTABLE.marked)) return undefined;
  const id = routingHeader(request, "svc-sandbox-id", "e2b-sandbox-id");
  const port = routingHeader(request, "svc-sandbox-port", "e2b-sandbox-port");
  if (id === undefined && port === undefined) return undefined;
  if (id === undefined || port === undefined) return bad("missing header");
  if (typeof id === "object") return id;
  if (typeof port === "object") return port;
  return sandbox(id, port);
}

const DIGITS_ONLY = /^\d+(-\d+)+$/;
const LABEL = /^([^.-]*)-([^.-]*)(?:-[^.]*)?$/;
const SANDBOX_ID = /^i[a-z0-9]{20}$/;

/** `<port>-<id>[-ignored].<rest>`. Other names are for the API: an operator may call the server `my-host.example`. */
function byHost(host: string): Target | undefined {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  const dot = name.indexOf(".");
  if (dot < 0 || name.startsWith("[")) return undefined;
  const label = name.slice(0, dot);
  const parts = LABEL.exec(label);
  // An IP address written as a name (127-0-0-1.example) does not name a sandbox.
  if (!parts || DIGITS_ONLY.test(label)) return undefined;
  const [, port = "", id = ""] = parts;
  if (!/^\d+$/.test(port) && !SANDBOX_ID.test(id)) return undefined;
  const to = sandbox(id, port);
  return to.kind === "sandbox" ? { ...to, isByHost: true } : to;
}

const PATH_FORM = /^\/ports\/([^/?]*)\/([^/?]*)([/?].*)?$/;

/** `/ports/<id>/<port>/<rest>`: for clients that can neither resolve names of sandboxes nor send headers. */
function byPath(target: string): Target | undefined {
  const [matched, id = "", port = "", rest = ""] = PATH_FORM.exec(target) ?? [];
  if (matched === undefined) return undefined;
  const to = sandbox(id, port);
  if (to.kind !== "sandbox") return to;
  // Relative links of a page need the slash at the end.
  if (!rest.startsWith("/")) return { kind: "redirect", location: `/ports/${to.sandboxId}/${to.port}/${rest}` };
  return { ...to, innerTarget: rest };
}

function sandbox(idText: string, portText: string): Target {
  // Older clients append `-<clientID>`.
  const sandboxId = idText.split("-", 1)[0] ?? "";
  if (!/^[a-z0-9]+$/.test(sandboxId) || sandboxId.length > 64) return bad("Invalid sandbox ID");
  const port = /^\d{1,5}$/.test(portText) ? Number(portText) : 0;
  if (port < 1 || port > 65535) return bad("Invalid sandbox port");
  return { kind: "sandbox", sandboxId, port };
}

function bySignature(request: RequestHead): Target | undefined {
  const { target } = request;
  if (!target.startsWith("/files?")) return undefined;
  return new URLSearchParams(target.slice(7)).has("signature") ? { kind: "signed-file" } : undefined;
}

/** Routes of the agent that only the server may call (docs/contract/agent.md, Freeze). `/freeze` and `/unfreeze` are public with a valid token. */
const INTERNAL_NAMES = ["init", "collapse", "fsfreeze", "fsthaw", "upgrade"];
/** A path in canonical form that does not begin with an internal name: most paths match, and need no further look. */
const PLAIN_PATH = new RegExp(`^(?!/(?:${INTERNAL_NAMES.join("|")})(?:[/?]|$))(?:/|(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)+)(?:\\?|$)`, "i");
const INTERNAL = new Set(INTERNAL_NAMES.map((name) => `/${name}`));

/**
 * True when a request to the agent's port could reach one of its internal routes, however the path is spelled: percent-encoded (more than
 * once), with dot segments, doubled or trailing slashes, backslashes, parameters or capitals.
 */
export function isInternalAgentPath(port: number, target: string): boolean {
  if (port !== AGENT_PORT || PLAIN_PATH.test(target)) return false;
  return INTERNAL.has(canonicalPath(target));
}

function canonicalPath(target: string): string {
  let path = target.split(/[?#]/, 1)[0] ?? "";
  for (let round = 0; round < 4 && path.includes("%"); round++) {
    path = path.replace(/%([0-9a-fA-F]{2})/g, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a NUL ends the path in C programs
  path = (path.split(/[?#;\x00]/, 1)[0] ?? "").replaceAll("\\", "/").toLowerCase();
  const kept: string[] = [];
  for (const segment of path.split("/")) {
    const clean = segment.trim();
    if (clean === "" || clean === ".") continue;
    if (clean === "..") kept.pop();
    else kept.push(clean);
  }
  return `/${kept.join("/")}`;
}
