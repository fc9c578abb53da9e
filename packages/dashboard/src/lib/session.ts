import { errorOf } from "./api-error.ts";

/*
 * The session has two halves: a cookie that scripts cannot read, and this token, which only pages of this origin (port included) can read. The API key is
 * sent once, at sign-in, and kept nowhere.
 */
const STORED = "boxyard-page-token";
export const PAGE_TOKEN = "Boxyard-Dashboard";

/** What the server says about the session. */
export interface SessionInfo {
  readonly version: string;
  readonly key: { readonly id: string; readonly name: string };
  /** Address of the server for clients. */
  readonly url: string;
  /** Domain of the host names of ports, if one is configured. */
  readonly domain?: string;
}

export const pageToken = (): string => localStorage.getItem(STORED) ?? "";

const ended = new Set<() => void>();

/** Calls `listener` when the server says that the session has ended. Returns what takes it back. */
export function onSessionEnd(listener: () => void): () => void {
  ended.add(listener);
  return () => ended.delete(listener);
}

export function sessionEnded(): void {
  localStorage.removeItem(STORED);
  for (const listener of ended) listener();
}

/** Begins a session with an API key or with the secret of a link. Throws `ApiError`. */
export async function signIn(by: { readonly apiKey: string } | { readonly link: string }): Promise<void> {
  const response = await fetch("/dashboard/own/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(by),
  });
  if (!response.ok) throw await errorOf(response);
  const { pageToken: token } = (await response.json()) as { pageToken: string };
  localStorage.setItem(STORED, token);
}

/** The present session; undefined if there is none. */
export async function currentSession(): Promise<SessionInfo | undefined> {
  if (pageToken() === "") return undefined;
  const response = await fetch("/dashboard/own/session", { headers: { [PAGE_TOKEN]: pageToken() } });
  if (response.status === 401) return undefined;
  if (!response.ok) throw await errorOf(response);
  return (await response.json()) as SessionInfo;
}

export async function signOut(): Promise<void> {
  await fetch("/dashboard/own/session", { method: "DELETE", headers: { [PAGE_TOKEN]: pageToken() } }).catch(() => {});
  sessionEnded();
}
