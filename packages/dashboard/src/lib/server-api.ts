import type * as wire from "@boxyard/spec/platform-types";
import { useRef } from "preact/hooks";
import { call } from "./api.ts";
import { ApiError } from "./api-error.ts";
import { type Resource, useResource } from "./resource.ts";

/* Calls of the platform API for the server itself, and for what a team may have. */

export const server = {
  state: (signal?: AbortSignal) => call<wire.ServerState>("GET", "/boxyard/server", { signal }),
  settings: (signal?: AbortSignal) => call<wire.ServerSettings>("GET", "/boxyard/settings", { signal }),
  team: (signal?: AbortSignal) => call<wire.TeamState>("GET", "/boxyard/team", { signal }),
};

/** The server's state, kept current; `null` as its data, and asked for once only, for a person whose key is not the operator's. */
export function useServer(everyMs: number): Resource<wire.ServerState | null> {
  const isRefused = useRef(false);
  const read = async (signal: AbortSignal) => {
    if (isRefused.current) return null;
    const state = await server.state(signal).catch(nullIfRefused);
    isRefused.current = state === null;
    return state;
  };
  return useResource("server", read, everyMs);
}

function nullIfRefused(error: unknown): null {
  if (error instanceof ApiError && error.status === 403) return null;
  throw error;
}
