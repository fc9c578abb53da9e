import { AppError, isSandboxId } from "@boxyard/core";
import type { ConnectionOptions, Sandbox } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { connection } from "./connection.ts";
import type { CliContext } from "./context.ts";

/** Metadata that held the name that `--name` gave a sandbox, before sandboxes had names of their own. */
const NAME_KEY = "name";
/** What can be the beginning of an id, long enough to be meant as one. */
const ID_PREFIX = /^i[a-z0-9]{2,19}$/;
/** What `--name` takes: no id, and no part of a `SANDBOX:PATH`. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Checks a name for a sandbox; whether another one has it, says the server. */
export function checkName(name: string): string {
  if (!NAME.test(name) || isSandboxId(name)) {
    const message = `'${name}' cannot be the name of a sandbox: give up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit`;
    throw new AppError("invalid_argument", message, { reason: "usage" });
  }
  return name;
}

/** True when the text can name a sandbox as `resolveSandbox` takes it; it may also be something else, a local path for example. */
export const mayBeSandbox = (text: string): boolean => isSandboxId(text) || NAME.test(text);

/**
 * The id of the sandbox that a person means: by its id, by its name, by a name in its metadata, or by the beginning of its id where only one begins so,
 * in this order. Several sandboxes can have one name in their metadata: a fork keeps the metadata of its source. Throws `not_found` for none and
 * `invalid_argument` for several, with their ids.
 */
export async function resolveSandbox(text: string, target: ConnectionOptions): Promise<string> {
  if (isSandboxId(text)) return text;
  const own = NAME.test(text) ? await idOfName(text, target) : undefined;
  if (own !== undefined) return own;
  const named: string[] = [];
  const begun: string[] = [];
  for await (const { sandboxId, metadata } of Sandboxes.list(target)) {
    if (metadata[NAME_KEY] === text) named.push(sandboxId);
    if (ID_PREFIX.test(text) && sandboxId.startsWith(text)) begun.push(sandboxId);
  }
  // A sandbox can move from one page of the list to the next while it is read.
  const found = [...new Set(named.length > 0 ? named : begun)];
  const [only, ...others] = found;
  if (only === undefined) throw new AppError("not_found", `there is no sandbox '${text}'`, { reason: "sandbox_not_found" });
  if (others.length === 0) return only;
  const what = named.length > 0 ? `have the name '${text}': give the id of one` : `have ids that begin with '${text}'`;
  throw new AppError("invalid_argument", `${found.length} sandboxes ${what}`, {
    reason: "usage",
    details: { hint: found.sort().join("\n") },
  });
}

async function idOfName(name: string, target: ConnectionOptions): Promise<string | undefined> {
  try {
    return (await Sandboxes.getInfoByName(name, target)).sandboxId;
  } catch (error) {
    if (NO_SUCH.has((error as { reason?: unknown }).reason)) return undefined;
    throw error;
  }
}

/** No sandbox has the name, or the server is older than names. */
const NO_SUCH: ReadonlySet<unknown> = new Set(["sandbox_not_found", "no_such_route"]);

/** Connects to the sandbox that a person means. Its lifetime stays as it is: a connect never shortens it, and asks for one second. */
export async function attachSandbox(text: string, context: CliContext, connect = connection): Promise<Sandbox> {
  const target = await connect(context);
  const { Sandbox } = await import("@boxyard/sdk");
  return Sandbox.connect(await resolveSandbox(text, target), { ...target, timeoutMs: 1000 });
}
