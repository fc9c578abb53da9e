import { AppError } from "@boxyard/core";
import { fileSignatureText, signedFileText } from "@boxyard/spec";
import { sameSecret } from "../access/token.ts";
import { type AgentContext, type HttpCall, httpFailure, type SystemUser } from "../contracts.ts";

/*
 * Access to files over HTTP, and the acting user: the token header or a signed URL (docs/contract/agent.md, Access and Signed URLs). Clients
 * compare the four messages of a 401.
 */

export type Operation = "read" | "write";

/** Signature of a file URL; each part as the query has it. */
export function signatureOf(path: string, operation: Operation, user: string, accessToken: string, expiration?: string): string {
  const text = signedFileText({ path, operation, user, accessToken, expiration });
  return fileSignatureText(new Bun.CryptoHasher("sha256").update(text).digest("base64"));
}

const unauthorised = (message: string) => new AppError("unauthenticated", message, { reason: "bad_signature" });

/** The `signature_expiration` of the query in decimal, undefined when absent. Throws 400 when it is no 64-bit integer. */
function expirationOf(query: URLSearchParams): bigint | undefined {
  const text = query.get("signature_expiration");
  if (text === null) return undefined;
  if (!/^-?[0-9]{1,20}$/.test(text)) throw httpFailure(400, "signature_expiration is not an integer");
  const value = BigInt(text);
  if (BigInt.asIntN(64, value) !== value) throw httpFailure(400, "signature_expiration is out of range");
  return value;
}

/** Lets the request pass or throws 401 (400 for an unreadable expiration, and for a second path in a signed URL). Everything passes while no token is set. */
export function authorise(ctx: AgentContext, call: HttpCall, operation: Operation): void {
  const expiration = expirationOf(call.query);
  const token = ctx.state.accessToken;
  if (token === undefined || token === "") return;
  const header = call.request.headers.get("X-Access-Token");
  if (header !== null) {
    if (!sameSecret(header, token)) throw unauthorised("access token present in header but does not match");
    return;
  }
  // Base64 has no space, so a space is a plus sign that the sender did not escape.
  const given = call.query.get("signature")?.replaceAll(" ", "+");
  if (!given) throw unauthorised("missing signature query parameter");
  const [path = "", ...others] = call.query.getAll("path");
  // Which one is signed, and which one is read, must not depend on the reader.
  if (others.length > 0) throw httpFailure(400, "path is given more than once");
  const user = call.query.get("username") ?? "";
  if (!sameSecret(given, signatureOf(path, operation, user, token, expiration?.toString()))) throw unauthorised("invalid signature");
  if (expiration !== undefined && expiration < BigInt(Math.floor(ctx.clock.now() / 1000))) {
    throw unauthorised("signature is already expired");
  }
}

/** Name of the acting user: as given, else the default one. 400 when there is neither. */
export function actingName(ctx: AgentContext, given: string | null | undefined): string {
  const name = given ?? ctx.state.defaultUser;
  if (name === undefined) throw httpFailure(400, "no user specified and the sandbox has no default user");
  return name;
}

/** The user of that name. Throws 401 with the text of the contract. */
export function lookUpUser(ctx: AgentContext, name: string): SystemUser {
  const user = ctx.users.byName(name);
  if (!user)
    throw new AppError("unauthenticated", `error looking up user '${name}': no such user in this sandbox`, { reason: "unknown_user" });
  return user;
}
