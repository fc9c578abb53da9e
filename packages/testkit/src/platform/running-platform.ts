import type { ApiCall, ApiReply } from "./api.ts";
import type { Fault } from "./faults.ts";

/** A running platform: the real server on the test data directory. Disposing it ends every sandbox, then the server. */
export interface Platform extends AsyncDisposable {
  readonly apiUrl: string;
  readonly apiKey: string;
  readonly dataDir: string;
  readonly pid: number;
  /** The variables that `boxyard env` prints, and nothing else but PATH and HOME: what a user's program would have. */
  readonly env: Readonly<Record<string, string>>;
  /** One call of the platform API; with the API key unless `headers` says otherwise. */
  api(call: ApiCall): Promise<ApiReply>;
  /** Ends the server and starts it again at the same address, with arguments of `serve` and more settings; sandboxes stay. */
  restart(args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<void>;
  /** Sets the machine up again, as `boxyard up` does before it starts the server; for a test that has ended the server and removed something. */
  setUp(): Promise<void>;
  /** Kills the server at once; `restart` brings it back. */
  kill9(): Promise<void>;
  /** Ends the server; sandboxes stay. */
  stop(): Promise<void>;
  /** The next faults of a server that was started with `faults`, each once; they replace faults that have not happened yet. */
  inject(...faults: readonly Fault[]): void;
  /** Resolves when every fault that `inject` asked for has happened. */
  faultsHappened(): Promise<void>;
  /** Resolves when the server has ended by itself, or by a fault. */
  died(): Promise<void>;
  /** What the server has logged so far: one object for each line. */
  log(): LogLine[];
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg: string };
