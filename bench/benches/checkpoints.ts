import { newBuildId, newTemplateId, type SandboxId, type TeamId } from "@boxyard/core";
import { TestServer } from "../../packages/server/src/testing/test-server.ts";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { percentile, summarize } from "../lib/stats.ts";

const ROUNDS = 300;
/** Rounds before the measured ones. */
const WARM_UP = 30;
/** Most that many checkpoints may cost, in times of the cost with few. */
const MOST_TIMES = 1.1;

interface Filling {
  readonly templates: number;
  /** Checkpoints of each template, each with a tag. */
  readonly each: number;
}
const FEW: Filling = { templates: 10, each: 1 };
const MANY: Filling = { templates: 1000, each: 10 };

/** What a snapshot, a fork of one copy, and a round of the sweep take, without the driver's work. */
interface Times {
  readonly snapshot: number[];
  readonly fork: number[];
  readonly sweep: number[];
}

/**
 * Measures the server's own part of checkpoints: the real store in a file, and the fake driver. The two servers take turns, so what else happens on the
 * machine meets both.
 */
export const checkpoints: Bench = {
  name: "checkpoints",
  promises: [18],
  what: "bookkeeping of snapshot, fork and sweep with 10,000 checkpoints and 1,000 templates, beside ten of each (--count)",
  async run(_platform, count = ROUNDS): Promise<BenchResult> {
    await using few = await Filled.start(FEW);
    await using many = await Filled.start(MANY);
    for (let round = -WARM_UP; round < count; round++) {
      const order = round % 2 === 0 ? [few, many] : [many, few];
      for (const filled of order) await filled.measure(round >= 0);
    }
    const verbs = ["snapshot", "fork", "sweep"] as const;
    const series = verbs.flatMap((verb) => [
      [`${verb} with 10`, summarize(few.times[verb])] as const,
      [`${verb} with 10,000`, summarize(many.times[verb])] as const,
    ]);
    return {
      series: Object.fromEntries(series),
      verdicts: verbs.map((verb) => verdictOf(verb, few.times[verb], many.times[verb])),
      notes: [],
    };
  },
};

/** What one of ten runs does not exceed: other work on the machine can only make a run slower. */
const quick = (samplesMs: readonly number[]): number =>
  percentile(
    [...samplesMs].sort((a, b) => a - b),
    0.1,
  );

function verdictOf(verb: string, few: readonly number[], many: readonly number[]): Verdict {
  const ratio = quick(many) / quick(few);
  return { promise: `${verb} with 10,000, p10 ≤ ${MOST_TIMES} × with 10`, measured: `${ratio.toFixed(2)} ×`, kept: ratio <= MOST_TIMES };
}

/** A server whose store has so many checkpoints, with one running sandbox. */
class Filled implements AsyncDisposable {
  readonly times: Times = { snapshot: [], fork: [], sweep: [] };
  private readonly server: TestServer;
  private readonly source: SandboxId;
  private readonly teamId: TeamId;

  private constructor(server: TestServer, source: SandboxId, teamId: TeamId) {
    this.server = server;
    this.source = source;
    this.teamId = teamId;
  }

  static async start(filling: Filling): Promise<Filled> {
    const server = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "10000" } });
    const source = (await server.create()).sandboxID as SandboxId;
    const { store, templates } = server.server.context;
    const teamId = await store.ensureTeam("default", "Default");
    await fill(server, source, teamId, filling);
    await templates.load();
    return new Filled(server, source, teamId);
  }

  async measure(counts: boolean): Promise<void> {
    const { snapshots, forks, sandboxes } = this.server.server.context;
    const timed = async <T>(verb: keyof Times, work: () => Promise<T>): Promise<T> => {
      const startedAt = performance.now();
      const result = await work();
      if (counts) this.times[verb].push(performance.now() - startedAt);
      return result;
    };
    await timed("snapshot", () => snapshots.create(this.teamId, this.source, { memory: true }));
    const wish = { seconds: 60, count: 1, signal: new AbortController().signal };
    const [copy] = await timed("fork", () => forks.fork(this.teamId, this.source, wish));
    await timed("sweep", () => this.server.server.sweep.once());
    if (copy && "record" in copy) await sandboxes.kill(this.teamId, copy.record.id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.server[Symbol.asyncDispose]();
  }
}

async function fill({ server, world }: TestServer, sandboxId: SandboxId, teamId: TeamId, { templates, each }: Filling): Promise<void> {
  const { store } = server.context;
  const [base] = await store.templates.listVersions();
  if (!base) throw new Error("The server has no template");
  for (let t = 0; t < templates; t++) {
    await store.transaction(async (tx) => {
      const now = t + 1;
      const template = await tx.templates.add({ id: newTemplateId(), teamId, name: `filling-${t}`, kind: "snapshot", now });
      for (let n = 0; n < each; n++) {
        const id = crypto.randomUUID();
        await tx.checkpoints.begin({ id, teamId, sandboxId, memory: true, createdAt: now });
        await tx.checkpoints.commit(id, 1);
        const spec = { ...base.spec, snapshot: { id, memory: true, sandboxId, sealedEnv: "" } };
        const { cpuCount, memoryMB, diskMB } = spec;
        const common = { status: "ready" as const, tags: [`v${n}`], resources: { cpuCount, memoryMB, diskMB } };
        const build = { id: newBuildId(), templateId: template.id, ...common, spec, createdAt: now, updatedAt: now };
        await tx.templates.addBuild(build);
        await tx.templates.assignTags(template.id, [`v${n}`], build.id, now);
        const info = { id, memory: true, layers: [], memoryBytes: 1, diskUsedBytes: 0, createdAt: now };
        world.snapshots.set(id, { info, files: new Map() });
      }
    });
  }
}
