/**
 * Body of the agent's internal `POST /init` (docs/contract/agent.md, Init), sent by the server with the header `X-Init-Key`. All members are
 * optional: one that is absent leaves what was set before; one that is given replaces it whole. Answers 204; 400 for a bad body; 401 for a
 * wrong key; 503 when the thaw that follows every accepted call can't be made. A call with an older `timestamp` than the last accepted one
 * changes nothing, but thaws.
 */
export interface AgentInitRequest {
  /** RFC 3339; the newest wins. */
  readonly timestamp?: string;
  /** Environment of every process. The platform's own `E2B_*` variables stand above it. */
  readonly envVars?: Readonly<Record<string, string>>;
  /** Token that every other request needs from now on; empty: none is needed. */
  readonly accessToken?: string;
  /** User where a request names none. */
  readonly defaultUser?: string;
  /** Working directory where a request names none; empty: the user's home. */
  readonly defaultWorkdir?: string;
  /** Our own: programs get it as `E2B_SANDBOX_ID` and in `/run/e2b/.E2B_SANDBOX_ID`. */
  readonly sandboxID?: string;
  /** Our own: programs get it as `E2B_TEMPLATE_ID` and in `/run/e2b/.E2B_TEMPLATE_ID`. */
  readonly templateID?: string;
  /** IP address that `events.e2b.local` gets; programs get it as `E2B_EVENTS_ADDRESS`. */
  readonly hyperloopIP?: string;
  /** PEM certificates that programs of the sandbox are to trust beside those of the image; empty: none any more. */
  readonly caBundle?: string;
  readonly lifecycleID?: string;
  /** Not supported by this agent: 400 unless empty. */
  readonly volumeMounts?: readonly { readonly nfs_target: string; readonly path: string }[];
}

/** Header that carries the key of a sandbox's agent. */
export const INIT_KEY_HEADER = "X-Init-Key";
