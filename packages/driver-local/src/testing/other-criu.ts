import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { criuFactsFile } from "../criu/criu.ts";
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

/** A command that prints the directory of the images, for a script. */
export const IMAGES_OF_CRIU = 'echo "$*" | sed "s/.*--images-dir \\([^ ]*\\).*/\\1/"';

/** A script that kills CRIU and all that it has started as soon as it has begun to write a file of that name. */
export const killedAt = (image: string) => `images=$(${IMAGES_OF_CRIU})
real "$@" & criu=$!
until [ -n "$(find "$images" -name '${image}' -size +0)" ]; do kill -0 $criu || exit 1; done
kill -9 0`;

/**
 * A script that runs `deed` on CRIU itself, not on what CRIU has started, at a moment of CRIU's action scripts; by default while it holds every process
 * of the sandbox.
 */
export const whileSeized = (deed: string, moment = "network-lock") => `
echo '#!/bin/sh
[ $CRTOOLS_SCRIPT_ACTION != ${moment} ] || ${deed} $PPID' >"$0.script"
chmod +x "$0.script"
sleep 1000 &
real "$@" --action-script "$0.script"`;
