import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { duration, fullTime, megabytes } from "../../lib/format.ts";
import { Snippet } from "../../ui/copy.tsx";
import { Link } from "../../ui/link.tsx";
import { Card, Facts } from "../../ui/page.tsx";

export function DetailsTab({ detail }: { detail: SandboxDetail }) {
  const {
    name,
    idleTimeout,
    alias,
    templateID,
    startedAt,
    endAt,
    cpuCount,
    memoryMB,
    diskSizeMB,
    metadata = {},
    lifecycle,
    volumeMounts = [],
    envdVersion,
  } = detail;
  return (
    <div class="pair">
      <div class="stack">
        <Card title="Facts">
          <Facts
            facts={[
              ["Name", name ?? "none"],
              ["Template", <Link to={`/templates/${encodeURIComponent(templateID)}`}>{alias ?? templateID}</Link>],
              ["Started", fullTime(startedAt)],
              [detail.state === "paused" ? "Paused" : "Ends", fullTime(endAt)],
              ...(detail.deleteAt ? [["Deleted by a rule", fullTime(detail.deleteAt)] as const] : []),
              ["At its end", lifecycle.onTimeout === "pause" ? "it is paused" : "it is killed"],
              ["A request while it is paused", lifecycle.autoResume ? "resumes it" : "is refused"],
              ["Limits", `${cpuCount} CPU, ${megabytes(memoryMB)} of memory, ${megabytes(diskSizeMB)} of disk`],
              ["Idle time", idleTimeout ? `its end comes after ${duration(idleTimeout * 1000)} without use` : "none"],
              ["Agent", envdVersion],
            ]}
          />
        </Card>
        <Card title="From a terminal">
          <Snippet label="command" text={`./boxyard shell ${detail.sandboxID}`} />
        </Card>
      </div>
      <div class="stack">
        <Card title="Metadata">
          {Object.keys(metadata).length === 0 ? <p class="muted">None was given.</p> : <Facts facts={Object.entries(metadata)} />}
        </Card>
        {volumeMounts.length > 0 && (
          <Card title="Volumes">
            <Facts facts={volumeMounts.map(({ name, path, readOnly }) => [name, `${path}${readOnly ? " (read only)" : ""}`] as const)} />
          </Card>
        )}
      </div>
    </div>
  );
}
