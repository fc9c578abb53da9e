import { AppError } from "@boxyard/core";
import { z } from "zod";
import { parseChallenge } from "./challenge.ts";
import type { Login } from "./login.ts";
import type { Transport } from "./transport.ts";

const MAX_TOKEN_BYTES = 64 * 1024;
/** How long a token lives when the registry does not say (distribution's token specification). */
const DEFAULT_LIFE_S = 60;

const Token = z.object({ token: z.string().optional(), access_token: z.string().optional(), expires_in: z.number().optional() });

const basic = ({ username, password }: Login) => `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;

/** Answers a registry's challenges; keeps tokens by scope until they expire. */
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

  /** The `Authorization` header to begin with for a scope, if one is known. */
  known(scope: string): string | undefined {
    const token = this.tokens.get(scope);
    return token && token.until > Date.now() ? token.header : undefined;
  }

  /** Answers a 401. Undefined when there is nothing (more) to try. */
  async answer(scope: string, header: string, signal: AbortSignal): Promise<string | undefined> {
    const challenge = parseChallenge(header);
    if (!challenge) return undefined;
    if (challenge.scheme === "basic") return this.login && this.keep(scope, basic(this.login), Number.POSITIVE_INFINITY);
    const realm = this.realm(challenge.parameters.realm ?? "");
    if (challenge.parameters.service !== undefined) realm.searchParams.set("service", challenge.parameters.service);
    // What we want to do, not what the registry says it is about: a first challenge may name less.
    for (const one of scope.split(" ")) realm.searchParams.append("scope", one);
    const headers: Record<string, string> = this.login ? { authorization: basic(this.login) } : {};
    const response = await this.transport.fetch(realm, { headers, signal, from: this.registry });
    const text = await this.transport.text(response, MAX_TOKEN_BYTES);
    if (!response.ok) {
      if (response.status >= 500) throw new AppError("unavailable", `${realm.host} gives no token`, { reason: "registry_unreachable" });
      return undefined;
    }
    const { token, access_token, expires_in = DEFAULT_LIFE_S } = readToken(text);
    const value = token ?? access_token;
    // A tenth earlier, for the time that requests take.
    return value === undefined ? undefined : this.keep(scope, `Bearer ${value}`, Date.now() + expires_in * 900);
  }

  /** Where tokens are given. Credentials go there, and what it answers goes to the registry: it must belong to it. (How it may be reached is the transport's.) */
  private realm(text: string): URL {
    const realm = URL.canParse(text) ? new URL(text) : undefined;
    if (realm && this.transport.reach.mayGiveTokens(this.registry, realm)) return realm;
    const host = text.slice(0, 200);
    const message = `${this.registry} sends us to '${host}' for a token, which is not of its own site; the operator of this server can allow it with BOXYARD_TOKEN_SERVERS`;
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
