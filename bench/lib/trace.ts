import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@boxyard/testkit";
import { type Summary, summarize } from "./stats.ts";

/** Reads what the server logged of each create: how long every step took. */
export class CreateTrace {
  private readonly log: string;
  private readonly from: number;

  constructor(platform: Platform) {
    this.log = join(platform.dataDir, "test-server.log");
    this.from = statSync(this.log).size;
  }

  /** Durations by step since this object was made; `total` is what the server needed in all. */
  steps(): Record<string, Summary> {
    const samples: Record<string, number[]> = {};
    const add = (name: string, ms: number) => {
      samples[name] = [...(samples[name] ?? []), ms];
    };
    for (const line of readFileSync(this.log).subarray(this.from).toString().split("\n")) {
      if (!line.includes('"sandbox created"')) continue;
      const event = JSON.parse(line) as { totalMs: number; steps: Record<string, number> };
      for (const [name, ms] of Object.entries(event.steps)) add(name, ms);
      add("total", event.totalMs);
    }
    return Object.fromEntries(Object.entries(samples).map(([name, values]) => [`server: ${name}`, summarize(values)]));
  }
}
