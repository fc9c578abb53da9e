import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { forkServerFile } from "../fork-server.ts";
import { resources } from "../resources.ts";
import type { Stage } from "../types.ts";

export const forkServer: Stage = {
  name: "fork-server",
  title: "fork server",
  key: () => resources.forkServerKey(),
  isDone: ({ dataDir }) => existsSync(forkServerFile(dataDir)),
  async run({ dataDir, env }, report, lock) {
    const file = forkServerFile(dataDir);
    const aside = `${file}.new`;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    rmSync(aside, { force: true });
    await resources.makeForkServer(aside, env, lock);
    // A running server goes on with the file that it has open.
    renameSync(aside, file);
    report.result(`${(statSync(file).size / 1e3).toFixed(0)} kB`);
  },
};
