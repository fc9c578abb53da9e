/* What a caller must be allowed, as data beside each route. `http/authorize.ts` of the server is the one place that checks it. */

/**
 * What a key may do.
 * - `read`: look at everything of its team that is not a secret.
 * - `sandboxes`: make, use and end sandboxes, snapshots and volumes.
 * - `templates`: build, tag, publish and remove templates, and fetch their images.
 * - `admin`: all of these, and manage the team's keys and secrets.
 *
 * `sandboxes` and `templates` include `read`.
 */
export const SCOPES = ["read", "sandboxes", "templates", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * Whose things a route is about.
 * - `team`: the caller's own team.
 * - `server`: all teams; for the holder of the admin token, and for keys with the scope of the team `default`, which is the operator's.
 */
export type Owner = "team" | "server";

/** The scope that a caller needs; null: anyone may call, without a key. */
export type Access = { readonly scope: Scope; readonly owner: Owner } | { readonly scope: null };

/** Member of an operation with its access. */
export const ACCESS = "x-boxyard-access";

/** A route says this of itself, or does not compile. */
export interface Declared {
  readonly [ACCESS]: Access;
}

/** Members of an operation for callers with a scope. */
export const allowed = (scope: Scope, owner: Owner = "team") => ({
  security: [{ ApiKey: [] }, { AccessToken: [] }, { AdminToken: [] }],
  [ACCESS]: { scope, owner } as Access,
});

/** Members of an operation that anyone may call. */
export const open = { [ACCESS]: { scope: null } as Access };

/** Whether these scopes contain what a route needs. */
export function includes(held: readonly Scope[], needed: Scope): boolean {
  if (held.includes(needed) || held.includes("admin")) return true;
  return needed === "read" && held.length > 0;
}
