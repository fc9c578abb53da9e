import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@boxyard/testkit";
import { type Summary, summarize } from "./stats.ts";

type TraceEvent =
  | { readonly msg: "sandbox created"; readonly totalMs: number; readonly steps: Record<string, number> }
  | { readonly msg: "driver step"; readonly step: string; readonly ms: number };

/** Reads what the server logged of each create: how long every step took; with the level `debug`, the driver's steps too. */
export class CreateTrace {
  private readonly log: string;
  private readonly from: number;

  constructor(platform: Platform) {
    this.log = join(platform.dataDir, "test-server.log");
    this.from = statSync(this.log).size;
  }

  /** Durations by step since this object was made; `server: total` is what the server needed in all. */
  steps(): Record<string, Summary> {
    const samples: Record<string, number[]> = {};
    const add = (name: string, ms: number) => {
      samples[name] = [...(samples[name] ?? []), ms];
    };
    for (const event of this.events()) {
      if (event.msg === "driver step") add(`driver: ${event.step}`, event.ms);
      if (event.msg !== "sandbox created") continue;
      for (const [name, ms] of Object.entries(event.steps)) add(`server: ${name}`, ms);
      add("server: total", event.totalMs);
    }
    return Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, summarize(values)]));
  }

  private events(): TraceEvent[] {
    const lines = readFileSync(this.log).subarray(this.from).toString().split("\n");
    return lines
      .filter((line) => line.startsWith("{") && /"(sandbox created|driver step)"/.test(line))
      .map((line) => JSON.parse(line) as TraceEvent);
  }
}
