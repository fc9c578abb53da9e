import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@boxyard/testkit";
import type { LoggedStep } from "./steps.ts";

/** The steps that the server logs at the level `trace`. */
export class ServerLog {
  private readonly file: string;
  private from: number;

  constructor(platform: Platform) {
    this.file = join(platform.dataDir, "test-server.log");
    this.from = statSync(this.file).size;
  }

  /** Those since the last call. */
  steps(): LoggedStep[] {
    const bytes = readFileSync(this.file);
    const text = bytes.subarray(this.from).toString();
    this.from = bytes.byteLength;
    const lines = text.split("\n").filter((line) => line.startsWith("{"));
    const events = lines.map((line) => JSON.parse(line) as LoggedStep & { readonly msg: string });
    return events.filter(({ msg }) => msg === "step").map(({ by, step, startedAt, ms, cpuMs }) => ({ by, step, startedAt, ms, cpuMs }));
  }
}
