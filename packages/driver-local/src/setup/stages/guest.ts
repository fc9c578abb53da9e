import { statSync } from "node:fs";
import { buildGuest, guestKey } from "../guest/build.ts";
import { findGuestFolder, guestStaging, installGuest } from "../guest/install.ts";
import type { Stage } from "../types.ts";

export const guest: Stage = {
  name: "guest",
  title: "guest bundle",
  key: guestKey,
  isDone: ({ dataDir }) => findGuestFolder(dataDir) !== undefined,
  async run({ dataDir, env }, report) {
    const staging = guestStaging(dataDir);
    await buildGuest(staging, { env, progress: (text) => report.progress(text) });
    const folder = await installGuest(dataDir, staging);
    report.result(`agent ${(statSync(`${folder}/agent`).size / 1e6).toFixed(0)} MB`);
  },
};
