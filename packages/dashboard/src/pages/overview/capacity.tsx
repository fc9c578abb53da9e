import type { ServerState } from "@boxyard/spec/platform-types";
import { bytes, megabytes } from "../../lib/format.ts";
import { Meter } from "../../ui/meter.tsx";
import { Card, Facts } from "../../ui/page.tsx";

/** What the sandboxes of all teams have of the machine. */
export function Capacity({ state: { memoryBytes, diskBytes, processes, warm, room } }: { state: ServerState }) {
  const of = (used: string, most: string) => `${used} of ${most}`;
  const { cpuCount, memoryMB, diskSizeMB } = room.size;
  return (
    <Card title="Capacity">
      <div class="meters">
        <Meter
          label="Memory"
          used={memoryBytes.used}
          most={memoryBytes.total}
          words={of(bytes(memoryBytes.used), bytes(memoryBytes.total))}
        />
        <Meter
          label="Storage pool"
          used={diskBytes.used}
          most={diskBytes.total}
          words={of(bytes(diskBytes.used), bytes(diskBytes.total))}
        />
        <Meter
          label="Processes"
          used={processes.used}
          most={processes.total}
          words={of(processes.used.toLocaleString(), processes.total.toLocaleString())}
        />
      </div>
      <Facts
        facts={[
          [
            "Room",
            `${room.sandboxes.toLocaleString()} more of ${cpuCount} CPU, ${megabytes(memoryMB)}, ${megabytes(diskSizeMB)} of disk; ${shortWords(room.shortOf)} ends first`,
          ],
          [
            "Warm pool",
            warm.most === 0
              ? "off (BOXYARD_WARM_SANDBOXES)"
              : `${warm.waiting.toLocaleString()} of ${warm.most.toLocaleString()} wait; ${warm.claims.toLocaleString()} were handed out`,
          ],
        ]}
      />
    </Card>
  );
}

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
