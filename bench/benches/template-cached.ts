import { Template } from "@boxyard/sdk/template";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { serverMs, withTemplate } from "../lib/builds.ts";
import { repeat, summarize } from "../lib/stats.ts";

const ROUNDS = 20;

/** Every step from the cache, so what is measured is what a build costs by itself. */
export const templateCached: Bench = {
  name: "template-cached",
  promises: [13],
  what: "build a template of six steps again, all of them from the cache, through the SDK",
  async run(platform): Promise<BenchResult> {
    const { apiUrl, apiKey } = platform;
    const template = Template.fromBaseImage()
      .env({ STAMP: crypto.randomUUID() })
      .workdir("/srv")
      .run("echo one > one", { user: "root" })
      .run("echo two > two", { user: "root" })
      .user("root")
      .run("echo three > three");
    return await withTemplate(platform, async (name) => {
      await template.build(name, { apiUrl, apiKey });
      const whole = await repeat(ROUNDS, () => template.build(name, { apiUrl, apiKey }));
      const server = summarize((await serverMs(platform, name)).slice(0, ROUNDS));
      return {
        series: { "build, through the SDK": whole, "of it, from request to end at the server": server },
        verdicts: [atMost("cached build p50", whole.p50, 1000)],
        notes: [],
      };
    });
  },
};
