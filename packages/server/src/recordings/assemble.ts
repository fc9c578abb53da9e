import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";
import type { Store } from "../store/index.ts";
import { NetworkRecordings, type NetworkRecordingsParts } from "./network-recordings.ts";
import { RecordingArchives } from "./recording-archives.ts";
import { RecordingFiles, recordingsIn } from "./recording-files.ts";

export interface RecordingNeeds {
  readonly store: Store;
  readonly sandboxes: NetworkRecordingsParts["sandboxes"];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly config: Pick<ServerConfig, "dataDir" | "recordings">;
}

/** The recordings of exchanges by HTTP, and their archives. */
export function assembleRecordings({ config, ...needs }: RecordingNeeds) {
  const parts = { ...needs, files: new RecordingFiles(recordingsIn(config.dataDir)), limits: config.recordings };
  const recordings = new NetworkRecordings(parts);
  return { recordings, recordingArchives: new RecordingArchives({ ...parts, recordings }) };
}
