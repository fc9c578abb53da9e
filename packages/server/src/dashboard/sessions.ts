import { createHash, timingSafeEqual } from "node:crypto";
import { AppError, type Clock } from "@boxyard/core";
import { hashKey } from "../keys/api-key.ts";
import type { Caller, Credentials } from "../keys/credentials.ts";

/** How long a session lasts after its sign-in. */
export const SESSION_MS = 12 * 3_600_000;
/** How long a link of `boxyard dashboard` can be opened. */
const LINK_MS = 60_000;
/** Sessions and unused links that are kept at once; the oldest make room. */
const MAX_SESSIONS = 1000;
const MAX_LINKS = 100;

/** What a sign-in gives the browser: one secret for the cookie, another one for the page. Both are needed. */
export interface NewSession {
  readonly cookie: string;
  readonly pageToken: string;
}

interface Session {
  readonly keyHash: string;
  readonly pageToken: string;
  readonly until: number;
}

interface Link {
  readonly keyHash: string;
  readonly until: number;
}

export interface SessionParts {
  readonly credentials: Pick<Credentials, "authenticateHash">;
  readonly clock: Clock;
  /** A new secret, as text that may stand in a cookie and in a URL. */
  readonly secret: () => string;
}

/**
 * Who is signed in to the dashboard. Sessions are in memory, under hashes of their secrets, and end with the server. The key itself is not kept: its hash is
 * checked for each request, so a session ends when its key is revoked.
 */
export class DashboardSessions {
  private readonly parts: SessionParts;
  private readonly sessions = new Map<string, Session>();
  private readonly links = new Map<string, Link>();

  constructor(parts: SessionParts) {
    this.parts = parts;
  }

  /** Begins a session for the holder of an API key. Throws `unauthenticated`. */
  signIn(apiKey: string): Promise<NewSession> {
    return this.begin(hashKey(apiKey));
  }

  /** Makes a secret that can be exchanged for a session once, within a minute. Throws `unauthenticated` for a key that is not valid. */
  async makeLink(apiKey: string): Promise<string> {
    const keyHash = hashKey(apiKey);
    await this.parts.credentials.authenticateHash(keyHash);
    const secret = this.parts.secret();
    makeRoom(this.links, MAX_LINKS);
    this.links.set(hashOf(secret), { keyHash, until: this.now() + LINK_MS });
    return secret;
  }

  /** Begins a session with the secret of a link, which works once. Throws `unauthenticated`, reason `link_invalid`. */
  async openLink(secret: string): Promise<NewSession> {
    const name = hashOf(secret);
    const link = this.links.get(name);
    this.links.delete(name);
    if (!link || link.until < this.now()) {
      throw new AppError("unauthenticated", "This link has been used or is older than a minute; `boxyard dashboard` makes another one", {
        reason: "link_invalid",
      });
    }
    return this.begin(link.keyHash);
  }

  /** The caller of a request that has both secrets of a session. Throws `unauthenticated`, reason `no_session`. */
  async callerOf(cookie: string | undefined, pageToken: string | undefined): Promise<Caller> {
    const name = hashOf(cookie ?? "");
    const session = this.sessions.get(name);
    if (!session || !isEqual(session.pageToken, hashOf(pageToken ?? ""))) throw noSession();
    if (session.until < this.now()) {
      this.sessions.delete(name);
      throw noSession();
    }
    try {
      return await this.parts.credentials.authenticateHash(session.keyHash);
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthenticated") this.sessions.delete(name);
      throw error;
    }
  }

  /** Ends a session. Repeatable. */
  signOut(cookie: string): void {
    this.sessions.delete(hashOf(cookie));
  }

  private async begin(keyHash: string): Promise<NewSession> {
    await this.parts.credentials.authenticateHash(keyHash);
    const session = { cookie: this.parts.secret(), pageToken: this.parts.secret() };
    makeRoom(this.sessions, MAX_SESSIONS);
    this.sessions.set(hashOf(session.cookie), { keyHash, pageToken: hashOf(session.pageToken), until: this.now() + SESSION_MS });
    return session;
  }

  private now(): number {
    return this.parts.clock.monotonic();
  }
}

/** Removes the oldest entries, so that one more fits. */
function makeRoom(map: Map<string, unknown>, most: number): void {
  for (const name of map.keys()) {
    if (map.size < most) return;
    map.delete(name);
  }
}

const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
const isEqual = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one), Buffer.from(other));
const noSession = () =>
  new AppError("unauthenticated", "You are not signed in, or the session has ended: sign in again", { reason: "no_session" });
