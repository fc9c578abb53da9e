import type * as wire from "@boxyard/spec/platform-types";
import type { ApiClient } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { text, unchecked } from "../connection/unchecked.ts";
import { type CreateOptions, createBody, lifetimeSeconds, NO_SANDBOX, type SandboxResources, sandboxPath } from "./sandbox-api.ts";
import { accessFromJson, infoFromJson, type SandboxAccess, type SandboxInfo } from "./sandbox-info.ts";

/** How `getOrCreate` got the sandbox. */
export type NamedOutcome = "created" | "resumed" | "running";

/** The claim of the client that prepares a sandbox. */
export interface Claim {
  readonly creator: string;
  readonly leaseSeconds: number;
}

export type NamedOptions = Omit<CreateOptions, "name" | "idempotencyKey">;

const byName = (name: string) => `/sandboxes/by-name/${encodeURIComponent(name)}`;

/** Of all that ask for one name at once, one creates the sandbox; with `setup` the others wait until it is prepared. */
export function getOrCreateSandbox(
  api: ApiClient,
  name: string,
  opts: NamedOptions,
  setup: Claim | undefined,
): Promise<{ readonly access: SandboxAccess; readonly outcome: NamedOutcome }> {
  return api.send({
    method: "PUT",
    path: byName(name),
    what: `get or create sandbox '${name}'`,
    notFoundReason: "template_not_found",
    body: { ...createBody(opts), ...(setup && { setup }) } satisfies wire.NewNamedSandbox,
    read: async (response) => {
      const json: unknown = await response.json();
      const outcome = text(unchecked<wire.NamedSandbox>(json).outcome);
      return { access: accessFromJson(json), outcome: outcome === "created" || outcome === "resumed" ? outcome : "running" };
    },
  });
}

/** Renews the claim, or ends it with `done`: then others get the sandbox. */
export function setUpSandbox(api: ApiClient, id: string, step: Claim & { readonly done: boolean }): Promise<void> {
  return api.send({
    method: "PUT",
    path: sandboxPath(id, "/setup"),
    what: `prepare sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    body: step satisfies wire.SandboxSetup,
    read: async () => undefined,
  });
}

export function getSandboxInfoByName(api: ApiClient, name: string, options: RequestOptions): Promise<SandboxInfo> {
  return api.send({
    method: "GET",
    path: byName(name),
    what: `look at sandbox '${name}'`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async (response) => infoFromJson(await response.json()),
  });
}

export function resizeSandbox(api: ApiClient, id: string, resources: SandboxResources, options: RequestOptions): Promise<SandboxInfo> {
  return api.send({
    method: "PATCH",
    path: sandboxPath(id, "/resources"),
    what: `resize sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    repeatable: true,
    options,
    body: resources satisfies wire.SandboxResources,
    read: async (response) => infoFromJson(await response.json()),
  });
}

export function renameSandbox(api: ApiClient, id: string, name: string, options: RequestOptions): Promise<void> {
  return api.send({
    method: "PATCH",
    path: sandboxPath(id),
    what: `rename sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    repeatable: true,
    options,
    body: { name } satisfies wire.SandboxUpdate,
    read: async () => undefined,
  });
}

export function setSandboxIdleTimeout(api: ApiClient, id: string, ms: number | undefined, options: RequestOptions): Promise<void> {
  return api.send({
    method: "PATCH",
    path: sandboxPath(id),
    what: `set idle timeout of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    repeatable: true,
    options,
    body: { idleTimeout: lifetimeSeconds(ms ?? 0) } satisfies wire.SandboxUpdate,
    read: async () => undefined,
  });
}
