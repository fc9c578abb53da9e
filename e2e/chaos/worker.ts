import { Sandbox } from "@boxyard/sdk";
import { eventually, type Platform } from "@boxyard/testkit";
import type { Dice } from "./dice.ts";
import { type Effect, type Expected, type Seen, succeeded, unknown } from "./model.ts";
import type { ServerKiller } from "./server-killer.ts";

const MAX_SANDBOXES = 3;
const LIFETIME_MS = 3_600_000;
/** Counts in memory, five times a second. Every fifth time it starts a process, so that pauses meet processes that come and go. */
const COUNTER = `mkfifo /tmp/silent; exec 3<>/tmp/silent; sleep infinity & i=0
while :; do i=$((i+1)); echo $i >>/tmp/ticks; if [ $((i % 5)) = 0 ]; then sleep 0.2; else read -r -t 0.2 -u 3; fi; done`;
/** How long the machine may take for one answer while everything else goes on. */
const ANSWER_MS = 60_000;

/** The server broke a promise: an injected fault does not excuse this error. */
class Broken extends Error {}

/** Uses sandboxes of its own at random, and knows what must be true of them. */
export class Worker {
  /** Operations that were tried. */
  done = 0;
  private readonly platform: Platform;
  private readonly killer: ServerKiller;
  private readonly dice: Dice;
  private readonly name: string;
  private readonly sandboxes = new Map<string, Expected>();
  private written = 0;

  constructor(platform: Platform, killer: ServerKiller, dice: Dice, name: string) {
    this.platform = platform;
    this.killer = killer;
    this.dice = dice;
    this.name = name;
  }

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await this.server();
      const expected = this.dice.pick([...this.sandboxes.values()]);
      if (!expected || (this.sandboxes.size < MAX_SANDBOXES && this.dice.next() < 0.4)) await this.create();
      else {
        await this.dice.weighted([
          [3, () => this.write(expected)],
          [2, () => this.pause(expected)],
          [2, () => this.resume(expected)],
          [2, () => this.look(expected)],
          [1, () => this.kill(expected)],
        ])();
      }
      this.done++;
    }
  }

  /** Throws unless everything is as this worker expects. */
  async check(): Promise<void> {
    await this.findStrays();
    for (const expected of [...this.sandboxes.values()]) await this.look(expected);
  }

  async killAll(): Promise<void> {
    for (const { id } of this.sandboxes.values()) await this.platform.api({ method: "DELETE", path: `/sandboxes/${id}` });
  }

  private get connection() {
    return { apiUrl: this.platform.apiUrl, apiKey: this.platform.apiKey, requestTimeoutMs: ANSWER_MS };
  }

  private async create(): Promise<void> {
    const { epoch } = this.killer;
    let sandbox: Sandbox;
    try {
      sandbox = await Sandbox.create("base", { ...this.connection, timeoutMs: LIFETIME_MS, metadata: { worker: this.name } });
    } catch (error) {
      this.excuse("create", error, epoch);
      return this.findStrays();
    }
    const expected: Expected = { id: sandbox.sandboxId, states: new Set(["running"]), contents: new Set([0]), ticks: 0 };
    this.sandboxes.set(expected.id, expected);
    await this.attempt("prepare", expected, {}, async () => {
      await sandbox.files.write("/home/user/content", "0\n");
      await sandbox.commands.run(COUNTER, { background: true, timeoutMs: 0 });
    });
  }

  private write(expected: Expected): Promise<void> {
    const content = ++this.written;
    return this.onRunning("write", expected, { content }, async (sandbox) => {
      await sandbox.files.write("/home/user/new", `${content}\n`);
      await sandbox.commands.run("mv /home/user/new /home/user/content");
    });
  }

  private pause(expected: Expected): Promise<void> {
    return this.attempt("pause", expected, { state: "paused" }, async () => {
      await Sandbox.pause(expected.id, this.connection);
    });
  }

  private resume(expected: Expected): Promise<void> {
    return this.attempt("resume", expected, { state: "running" }, async () => {
      await Sandbox.connect(expected.id, { ...this.connection, timeoutMs: LIFETIME_MS });
    });
  }

  private async kill(expected: Expected): Promise<void> {
    await this.attempt("kill", expected, { state: "gone" }, async () => {
      await Sandbox.kill(expected.id, this.connection);
    });
    await this.look(expected);
  }

  /** Compares a sandbox's state, file and counter with what this worker expects. */
  private async look(expected: Expected): Promise<void> {
    await this.server();
    const { epoch } = this.killer;
    try {
      const seen = await this.seen(expected.id);
      if (!expected.states.has(seen)) throw new Broken(`${expected.id} is ${seen}, and must be ${[...expected.states].join(" or ")}`);
      expected.states = new Set([seen]);
      if (seen === "gone") this.sandboxes.delete(expected.id);
      if (seen === "running") await this.compareInside(expected);
    } catch (error) {
      this.excuse("look", error, epoch);
    }
  }

  private async compareInside(expected: Expected): Promise<void> {
    const sandbox = await Sandbox.connect(expected.id, { ...this.connection, timeoutMs: LIFETIME_MS });
    const { stdout } = await sandbox.commands.run(
      "cat /home/user/content 2>/dev/null || echo -1; tail -n 1 /tmp/ticks 2>/dev/null || echo 0",
    );
    const [content = Number.NaN, ticks = Number.NaN] = stdout.split("\n").map(Number);
    if (!expected.contents.has(content) && !(content === -1 && expected.contents.has(0)))
      throw new Broken(`${expected.id} holds ${content}, and must hold ${[...expected.contents].join(" or ")}`);
    if (ticks < expected.ticks) throw new Broken(`${expected.id} counts ${ticks}, after ${expected.ticks}: its memory was lost`);
    if (content >= 0) expected.contents = new Set([content]);
    expected.ticks = ticks;
  }

  private async onRunning(what: string, expected: Expected, effect: Effect, work: (sandbox: Sandbox) => Promise<void>): Promise<void> {
    if (!expected.states.has("running") || expected.states.size > 1) return this.look(expected);
    const sandbox = async () => Sandbox.connect(expected.id, { ...this.connection, timeoutMs: LIFETIME_MS });
    await this.attempt(what, expected, effect, async () => work(await sandbox()));
  }

  private async attempt(what: string, expected: Expected, effect: Effect, work: () => Promise<void>): Promise<void> {
    const { epoch } = this.killer;
    try {
      await work();
    } catch (error) {
      unknown(expected, effect);
      // A sandbox of which it is not known whether it is still there may answer "not found".
      if (!expected.states.has("gone")) this.excuse(what, error, epoch);
      return this.look(expected);
    }
    succeeded(expected, effect);
  }

  /** An operation may fail when the server was killed, or one of its steps failed, while it went on; never otherwise. */
  private excuse(what: string, error: unknown, epoch: number): void {
    if (error instanceof Broken || (epoch === this.killer.epoch && !this.killer.away && !this.killer.faultPending))
      throw new Error(`${this.name}: ${what} failed`, { cause: error });
  }

  private async seen(id: string): Promise<Seen> {
    const { status, body } = await this.platform.api({ path: `/sandboxes/${id}` });
    if (status === 404) return "gone";
    if (status !== 200) throw new Error(`get answered ${status}`);
    return (body as { state: Seen }).state;
  }

  /** Sandboxes of this worker whose create was never answered: they exist whole or not at all. */
  private async findStrays(): Promise<void> {
    await this.server();
    const { epoch } = this.killer;
    const reply = await this.platform
      .api({ path: `/v2/sandboxes?metadata=${encodeURIComponent(`worker=${this.name}`)}` })
      .catch(() => undefined);
    if (reply?.status !== 200) return this.excuse("list", new Error(`list answered ${reply?.status}`), epoch);
    for (const { sandboxID } of reply.body as { sandboxID: string }[]) {
      if (!this.sandboxes.has(sandboxID)) await this.platform.api({ method: "DELETE", path: `/sandboxes/${sandboxID}` }).catch(() => {});
    }
  }

  private async server(): Promise<void> {
    await eventually("the server is back", () => !this.killer.away, { withinMs: ANSWER_MS });
  }
}
