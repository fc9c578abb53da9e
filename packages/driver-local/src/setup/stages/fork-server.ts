import { existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { criuPreloadFile, forkServerFile } from "../fork-server.ts";
import { resources } from "../resources.ts";
import type { Stage } from "../types.ts";

export const forkServer: Stage = {
  name: "fork-server",
  title: "fork server",
  key: () => resources.forkServerKey(),
  isDone: ({ dataDir }) => existsSync(forkServerFile(dataDir)) && existsSync(criuPreloadFile(dataDir)),
  async run({ dataDir, env }, report, lock) {
    const file = forkServerFile(dataDir);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    await replace(criuPreloadFile(dataDir), (aside) => resources.makeCriuPreload(aside, env, lock));
    // A running server goes on with the file that it has open.
    await replace(file, (aside) => resources.makeForkServer(aside, env, lock));
    report.result(`${(statSync(file).size / 1e3).toFixed(0)} kB`);
  },
};

async function replace(file: string, make: (aside: string) => Promise<void>): Promise<void> {
  const aside = `${file}.new`;
  rmSync(aside, { force: true });
  await make(aside);
  renameSync(aside, file);
}
