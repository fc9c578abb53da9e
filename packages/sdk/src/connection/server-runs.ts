interface Run {
  readonly name: string;
  /** When it was first seen, by our clock. */
  readonly at: number;
}

const MAX_RUNS = 16;
const LIMIT_MS = 2000;

/**
 * Which run of the server answered when. A server names its run in the header `X-Server-Run` of every answer of its API and takes a new name
 * at each start; so a client can tell that a restart cut a stream.
 */
export class ServerRuns {
  private readonly apiUrl: string;
  private readonly runs: Run[] = [];

  constructor(apiUrl: string) {
    this.apiUrl = apiUrl;
  }

  note(response: Response): void {
    const name = response.headers.get("x-server-run");
    if (name && name !== this.runs.at(-1)?.name) this.runs.push({ name, at: Date.now() });
    if (this.runs.length > MAX_RUNS) this.runs.shift();
  }

  /** True when another run answers now than answered at `time`. Never throws; false when that cannot be told. */
  async hasChangedSince(time: number): Promise<boolean> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), LIMIT_MS);
    try {
      const response = await fetch(`${this.apiUrl}/health`, { signal: controller.signal });
      this.note(response);
      await response.body?.cancel();
    } catch {
      return false;
    } finally {
      clearTimeout(timer);
    }
    const then = [...this.runs].reverse().find(({ at }) => at <= time) ?? this.runs[0];
    return then?.name !== this.runs.at(-1)?.name;
  }
}
