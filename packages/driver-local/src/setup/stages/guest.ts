import { statSync } from "node:fs";
import { findGuestFolder, guestStaging, installGuest } from "../guest/install.ts";
import { resources } from "../resources.ts";
import type { Stage } from "../types.ts";

export const guest: Stage = {
  name: "guest",
  title: "guest bundle",
  key: () => resources.guestKey(),
  isDone: ({ dataDir }) => findGuestFolder(dataDir) !== undefined,
  async run({ dataDir, env }, report) {
    const staging = guestStaging(dataDir);
    await resources.makeGuest(staging, { env, progress: (text) => report.progress(text) });
    const folder = await installGuest(dataDir, staging);
    report.result(`agent ${(statSync(`${folder}/agent`).size / 1e6).toFixed(0)} MB`);
  },
};
