import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";

const LIFETIME_MS = 3_600_000;
const ANSWER_MS = 120_000;
const COUNTER = "i=0; while :; do i=$((i+1)); echo $i > /tmp/new && mv /tmp/new /tmp/ticks; sleep 0.2; done";
/** Commands and uploads of one life. */
const USES = 10;

/** What all clients have found. */
export class SoakTally {
  lives = 0;
  commands = 0;
  pauses = 0;
  /** Milliseconds of each create, pause, resume and kill. */
  readonly times: Record<"create" | "pause" | "resume" | "kill", number[]> = { create: [], pause: [], resume: [], kill: [] };
  /** Sandboxes that were gone, or whose file or memory was. */
  readonly lost: string[] = [];
  /** Sandboxes that were still there after their kill had been answered. */
  readonly notEnded: string[] = [];
  /** Requests that were refused or failed, although nothing disturbed the server. */
  readonly failed: string[] = [];
}

/** Creates a sandbox, uses it, pauses and resumes it, and kills it, repeatedly, and checks each time that nothing was lost. */
export class SoakClient {
  private readonly connection: { apiUrl: string; apiKey: string; requestTimeoutMs: number };
  private readonly platform: Platform;
  private readonly tally: SoakTally;

  constructor(platform: Platform, tally: SoakTally) {
    this.platform = platform;
    this.tally = tally;
    this.connection = { apiUrl: platform.apiUrl, apiKey: platform.apiKey, requestTimeoutMs: ANSWER_MS };
  }

  async run(until: number): Promise<void> {
    while (performance.now() < until) {
      const sandbox = await this.attempt("create", () => Sandbox.create("base", { ...this.connection, timeoutMs: LIFETIME_MS }));
      if (!sandbox) continue;
      try {
        await this.live(sandbox);
      } catch (error) {
        this.tally.failed.push(`${sandbox.sandboxId}: ${error instanceof Error ? error.message : error}`);
      }
      await this.end(sandbox.sandboxId);
      this.tally.lives++;
    }
  }

  private async live(sandbox: Sandbox): Promise<void> {
    const content = crypto.randomUUID();
    await sandbox.files.write("/home/user/content", content);
    await (await sandbox.commands.run(COUNTER, { background: true, timeoutMs: 0 })).disconnect();
    for (let use = 0; use < USES; use++) {
      await sandbox.commands.run("head -c 200000 /dev/zero > /tmp/zeros && wc -c < /tmp/zeros");
      await sandbox.files.write(`/tmp/upload-${use}`, content.repeat(1000));
      this.tally.commands++;
    }
    const before = await this.ticks(sandbox);
    if (!(await this.attempt("pause", () => sandbox.pause()))) return;
    const resume = () => Sandbox.connect(sandbox.sandboxId, { ...this.connection, timeoutMs: LIFETIME_MS });
    const resumed = await this.attempt("resume", resume);
    if (!resumed) return;
    const after = await this.ticks(resumed);
    if (after < before) this.tally.lost.push(`${sandbox.sandboxId} counts ${after}, after ${before}`);
    const found = await resumed.files.read("/home/user/content");
    if (found !== content) this.tally.lost.push(`${sandbox.sandboxId} holds '${found}', and must hold '${content}'`);
    this.tally.pauses++;
  }

  private async end(id: string): Promise<void> {
    const path = `/sandboxes/${id}`;
    const killed = await this.attempt("kill", () => this.platform.api({ method: "DELETE", path }));
    if (killed?.status === 404) this.tally.lost.push(`${id} was gone before its kill`);
    else if (killed?.status !== 204) this.tally.failed.push(`kill answered ${killed?.status}`);
    else if ((await this.platform.api({ path })).status !== 404) this.tally.notEnded.push(id);
  }

  private async ticks(sandbox: Sandbox): Promise<number> {
    return Number((await sandbox.commands.run("cat /tmp/ticks 2>/dev/null || echo 0")).stdout);
  }

  private async attempt<T>(what: keyof SoakTally["times"], work: () => Promise<T>): Promise<T | undefined> {
    const startedAt = performance.now();
    try {
      const result = await work();
      this.tally.times[what].push(performance.now() - startedAt);
      return result;
    } catch (error) {
      this.tally.failed.push(`${what}: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  }
}
