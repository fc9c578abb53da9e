import { type BoxyardError, ConnectionError, SandboxEndedError } from "../errors.ts";
import type { SandboxHealth } from "./agent-connection.ts";
import { sleep } from "./api-client.ts";
import type { RequestScope } from "./request-scope.ts";
import type { ServerRuns } from "./server-runs.ts";

/** Why a connection was lost. `restarted`: the sandbox runs, and the server has been restarted since the stream began. */
export type ProbeResult = SandboxHealth | "restarted";

/** Finds out why a connection was lost. `stream` is set if an answer had begun. */
export type Probe = (stream?: { readonly beganAt: number; readonly signal: AbortSignal }) => Promise<ProbeResult>;

/** Time for a restarting server to answer again. A call whose answer had not begun does not wait for it. */
const PATIENCE_MS = 3000;
const PAUSE_MS = 200;

/** The probe of a sandbox: asks for its health, for a while if a stream was cut, then whether the server is still the same. */
export function probeOf(askHealth: () => Promise<SandboxHealth>, runs: ServerRuns): Probe {
  return async (stream) => {
    const deadline = Date.now() + (stream ? PATIENCE_MS : 0);
    let health = await askHealth();
    while (health === "unreachable" && stream && !stream.signal.aborted && Date.now() < deadline) {
      await sleep(PAUSE_MS, stream.signal);
      health = await askHealth();
    }
    return health === "running" && stream && (await runs.hasChangedSince(stream.beganAt)) ? "restarted" : health;
  };
}

const CUT = "the sandbox is still running; connect to the command again";

/** The error for a lost connection, by what `probe` finds. */
export async function lostConnection(
  cause: unknown,
  what: string,
  said: string,
  scope: RequestScope,
  probe: Probe | undefined,
  requestId?: string,
): Promise<BoxyardError> {
  const { beganAt, signal } = scope;
  const found = probe ? await probe(beganAt === undefined ? undefined : { beganAt, signal }) : "unreachable";
  const ended = scope.failure(cause);
  if (ended) return ended;
  const options = { code: "unavailable", requestId, cause } as const;
  switch (found) {
    case "ended": {
      const text = `${what}: the sandbox is not running any more (killed, or its time was up)`;
      return new SandboxEndedError(text, { ...options, reason: "sandbox_ended" });
    }
    case "replaced": {
      const text = `${what}: the sandbox has ended, and another one has its name now`;
      return new SandboxEndedError(text, { ...options, reason: "sandbox_replaced" });
    }
    case "restarted":
      return new ConnectionError(`${what}: the server was restarted; ${CUT} (${said})`, { ...options, reason: "server_restarted" });
    case "running":
      return new ConnectionError(`${what}: the connection was cut; ${CUT} (${said})`, { ...options, reason: "stream_dropped" });
    case "unreachable":
      return new ConnectionError(`${what}: the connection failed (${said})`, { ...options, reason: "network_failed" });
  }
}
