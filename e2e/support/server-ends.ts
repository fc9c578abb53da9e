import type { Platform } from "@boxyard/testkit";

/** Ways in which a server ends and the next one starts, by the name that a test's title gives them. */
export const serverEnds = (platform: () => Platform): Readonly<Record<string, () => Promise<void>>> => ({
  "a restart": () => platform().restart(),
  "kill -9": async () => {
    await platform().kill9();
    await platform().restart();
  },
});
