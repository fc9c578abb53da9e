import { AppError } from "@boxyard/core";
import { type Access, includes, type Scope } from "@boxyard/spec/platform";
import { ANYONE, type Caller, type Credentials } from "../keys/credentials.ts";

/** A header of the request, by its name in lower case. */
type Header = (name: string) => string | undefined;

/**
 * The caller of a route, which must be allowed what the route declares; `known`: who it is, where a session says so. This is the one place that decides about it. Throws `unauthenticated`;
 * `permission_denied`, with the scope that the caller lacks; `invalid_argument` for the team that `X-Team-ID` names.
 */
export async function authorize(header: Header, access: Access, credentials: Credentials, known?: Caller): Promise<Caller> {
  if (access.scope === null) return ANYONE;
  const caller = known ?? (await identify(header, credentials));
  const team = header("x-team-id");
  const acting = team ? await credentials.actFor(caller, team) : caller;
  if (access.owner === "server" && !credentials.isOperator(caller))
    throw lacking(access.scope, " of the team 'default', or the admin token");
  if (!includes(caller.scopes, access.scope)) throw lacking(access.scope, "");
  return acting;
}

async function identify(header: Header, credentials: Credentials): Promise<Caller> {
  const admin = header("x-admin-token");
  if (admin) return credentials.authenticateAdmin(admin);
  return credentials.authenticate(keyOf(header));
}

/** The key or token of a request: of `X-API-Key`, else of `Authorization: Bearer`. */
export const keyOf = (header: Header): string | undefined =>
  header("x-api-key") || /^Bearer +(\S+) *$/i.exec(header("authorization") ?? "")?.[1];

const lacking = (scope: Scope, more: string) =>
  new AppError(
    "permission_denied",
    `The API key lacks the scope '${scope}'${more}: use one that has it (boxyard key create --scope ${scope})`,
    {
      reason: "scope_missing",
      details: { scope },
    },
  );
