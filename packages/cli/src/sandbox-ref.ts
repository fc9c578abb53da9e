import { AppError, isSandboxId } from "@boxyard/core";
import type { ConnectionOptions, Sandbox } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import { connection } from "./connection.ts";
import type { CliContext } from "./context.ts";

/** Metadata that holds the name that `--name` gives a sandbox. */
export const NAME_KEY = "name";
/** What can be the beginning of an id, long enough to be meant as one. */
const ID_PREFIX = /^i[a-z0-9]{2,19}$/;
/** What `--name` takes: no id, and no part of a `SANDBOX:PATH`. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Checks a name for a new sandbox, and that no other has it. */
export async function checkName(name: string, target: ConnectionOptions): Promise<string> {
  if (!NAME.test(name) || isSandboxId(name)) {
    const message = `'${name}' cannot be the name of a sandbox: give up to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit`;
    throw new AppError("invalid_argument", message, { reason: "usage" });
  }
  const [taken] = await Sandboxes.list({ ...target, metadata: { [NAME_KEY]: name } }).nextItems();
  if (!taken) return name;
  const details = { hint: `\`boxyard rm ${taken.sandboxId}\` ends it.` };
  throw new AppError("already_exists", `sandbox ${taken.sandboxId} has the name '${name}' already`, { reason: "name_taken", details });
}

/** True when the text can name a sandbox as `resolveSandbox` takes it; it may also be something else, a local path for example. */
export const mayBeSandbox = (text: string): boolean => isSandboxId(text) || NAME.test(text);

/**
 * The id of the sandbox that a person means: by its id, by the name that it was given, or by the beginning of its id where only one begins so.
 * A name goes before the beginning of an id. Several sandboxes can have one name: a fork keeps the metadata of its source. Throws `not_found`
 * for none and `invalid_argument` for several, with their ids.
 */
export async function resolveSandbox(text: string, target: ConnectionOptions): Promise<string> {
  if (isSandboxId(text)) return text;
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

/** Connects to the sandbox that a person means. Its lifetime stays as it is: a connect never shortens it, and asks for one second. */
export async function attachSandbox(text: string, context: CliContext, connect = connection): Promise<Sandbox> {
  const target = await connect(context);
  const { Sandbox } = await import("@boxyard/sdk");
  return Sandbox.connect(await resolveSandbox(text, target), { ...target, timeoutMs: 1000 });
}
