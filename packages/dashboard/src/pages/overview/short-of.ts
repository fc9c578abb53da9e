import type { ServerState } from "@boxyard/spec/platform-types";

const WORDS: Readonly<Record<ServerState["room"]["shortOf"], string>> = {
  places: "the number allowed",
  memory: "memory",
  disk: "disk",
  processes: "processes",
  promisedMemory: "promised memory",
  promisedDisk: "promised disk",
};

/** What ends first when sandboxes are made. */
export const shortWords = (shortOf: ServerState["room"]["shortOf"]): string => WORDS[shortOf];
