import { AppError } from "@boxyard/core";
import { z } from "zod";
import { parseChallenge } from "./challenge.ts";
import type { Login } from "./login.ts";
import type { Transport } from "./transport.ts";

const MAX_TOKEN_BYTES = 64 * 1024;
/** Lifetime of a token when the registry names none (token specification of the distribution project). */
const DEFAULT_LIFE_S = 60;

const Token = z.object({ token: z.string().optional(), access_token: z.string().optional(), expires_in: z.number().optional() });

const basic = ({ username, password }: Login) => `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

/** Answers the challenges of a registry, and keeps tokens by their scope until they expire. */
export class Authenticator {
  private readonly transport: Transport;
  private readonly login: Login | undefined;
  private readonly registry: string;
  private readonly tokens = new Map<string, { header: string; until: number }>();

  constructor(registry: string, login: Login | undefined, transport: Transport) {
    this.registry = registry;
    this.login = login;
    this.transport = transport;
  }

  /** The `Authorization` header of a token for this scope that has not expired; undefined without one. */
  known(scope: string): string | undefined {
    const token = this.tokens.get(scope);
    return token && token.until > this.transport.clock.now() ? token.header : undefined;
  }

  /**
   * The `Authorization` header that answers the challenge `header` of a 401; undefined when no answer is known, or the token server refuses.
   * Throws `unavailable` (`registry_answer`, `registry_unreachable`), `permission_denied` (`registry_not_allowed`).
   */
  async answer(scope: string, header: string, signal: AbortSignal): Promise<string | undefined> {
    const challenge = parseChallenge(header);
    if (!challenge) return undefined;
    if (challenge.scheme === "basic") return this.login && this.keep(scope, basic(this.login), Number.POSITIVE_INFINITY);
    const realm = this.realm(challenge.parameters.realm ?? "");
    if (challenge.parameters.service !== undefined) realm.searchParams.set("service", challenge.parameters.service);
    // The scope of the request, not that of the challenge, which may be smaller.
    for (const one of scope.split(" ")) realm.searchParams.append("scope", one);
    const headers: Record<string, string> = this.login ? { authorization: basic(this.login) } : {};
    const response = await this.transport.fetch(realm, { headers, signal, from: this.registry });
    const text = await this.transport.text(response, MAX_TOKEN_BYTES);
    if (!response.ok) {
      if (response.status >= 500)
        throw new AppError("unavailable", `The token server ${realm.host} answers ${response.status}`, { reason: "registry_unreachable" });
      return undefined;
    }
    const { token, access_token, expires_in = DEFAULT_LIFE_S } = readToken(text);
    const value = token ?? access_token;
    // A token counts as expired after nine tenths of its lifetime, for the time that requests take.
    return value === undefined ? undefined : this.keep(scope, `Bearer ${value}`, this.transport.clock.now() + expires_in * 900);
  }

  /**
   * The address of the token server. It gets the credentials of the registry, and its answers go to the registry, so it must be of the registry's
   * site or be allowed by the operator. `Transport` checks whether its address may be reached at all.
   */
  private realm(text: string): URL {
    const realm = URL.canParse(text) ? new URL(text) : undefined;
    if (realm && this.transport.fetchPolicy.mayGiveTokens(this.registry, realm)) return realm;
    const host = text.slice(0, 200);
    const message = `${this.registry} names '${host}' as its token server, which is of another site; the operator of this server can allow it with BOXYARD_TOKEN_SERVERS`;
    throw new AppError("unavailable", message, { reason: "registry_answer" });
  }

  private keep(scope: string, header: string, until: number): string {
    this.tokens.set(scope, { header, until });
    return header;
  }
}

function readToken(text: string): z.infer<typeof Token> {
  try {
    return Token.parse(JSON.parse(text));
  } catch {
    return {};
  }
}
