import { statSync } from "node:fs";
import { findGuestDirectory, guestStaging, installGuest } from "../guest/install.ts";
import { resources } from "../resources.ts";
import type { Stage } from "../types.ts";

export const guest: Stage = {
  name: "guest",
  title: "guest bundle",
  key: () => resources.guestKey(),
  isDone: ({ dataDir }) => findGuestDirectory(dataDir) !== undefined,
  async run({ dataDir, env }, report, lock) {
    const staging = guestStaging(dataDir);
    await resources.makeGuest(staging, { env, lock, progress: (text) => report.progress(text) });
    const directory = await installGuest(dataDir, staging);
    report.result(`agent ${(statSync(`${directory}/agent`).size / 1e6).toFixed(0)} MB`);
  },
};
