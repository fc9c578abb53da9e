import { Template } from "@boxyard/sdk/template";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { serverMs, withTemplate } from "../lib/builds.ts";
import { repeat, summarize } from "../lib/stats.ts";

const ROUNDS = 20;

/** Measures a sandbox, the command, a commit, and the end of the build with its sandbox. */
export const templateRun: Bench = {
  name: "template-run",
  promises: [14],
  what: "build a template of one RUN that is not in the cache, on base, through the SDK",
  async run(platform): Promise<BenchResult> {
    const { apiUrl, apiKey } = platform;
    return await withTemplate(platform, async (name) => {
      const whole = await repeat(ROUNDS, () =>
        Template.fromBaseImage().run(`echo ${crypto.randomUUID()} > ~/stamp`).build(name, { apiUrl, apiKey }),
      );
      const server = summarize((await serverMs(platform, name)).slice(0, ROUNDS));
      return {
        series: { "build, through the SDK": whole, "of it, from request to end at the server": server },
        verdicts: [atMost("build of one RUN p50", whole.p50, 1000)],
        notes: [],
      };
    });
  },
};
