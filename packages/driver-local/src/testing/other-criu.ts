import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { criuFactsFile } from "../checkpoint/criu.ts";
import type { TestMachine } from "./machine.ts";

/** Runs `work` with a bash script instead of CRIU. In the script, the function `real` executes the real CRIU; call it with `"$@"`. */
export async function withCriu(machine: TestMachine, text: string, work: () => Promise<void>): Promise<void> {
  const path = criuFactsFile(machine.dataDir);
  const before = readFileSync(path, "utf8");
  const { criu } = JSON.parse(before) as { criu: { file: string; args: string[]; version: string } };
  const real = [criu.file, ...criu.args].map((word) => `'${word}'`).join(" ");
  const script = join(machine.dataDir, "run", "other-criu");
  writeFileSync(script, `#!/bin/bash\nreal() { exec ${real} "$@"; }\n${text}\n`, { mode: 0o755 });
  writeFileSync(path, JSON.stringify({ ...JSON.parse(before), criu: { file: script, args: [], version: "4.2" } }));
  machine.criuLimitMs = 3_000;
  await machine.reopen();
  try {
    await work();
  } finally {
    writeFileSync(path, before);
    machine.criuLimitMs = undefined;
    await machine.reopen();
  }
}
