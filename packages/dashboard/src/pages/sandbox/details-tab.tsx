import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { sandbox } from "../../lib/api.ts";
import { fullTime, megabytes } from "../../lib/format.ts";
import { networkUpdate, whyNotHere } from "../../lib/network-update.ts";
import { Button } from "../../ui/button.tsx";
import { Snippet } from "../../ui/copy.tsx";
import { Checkbox, Field } from "../../ui/field.tsx";
import { Card, Facts } from "../../ui/page.tsx";
import { told } from "../../ui/toasts.tsx";

interface DetailsProps {
  readonly detail: SandboxDetail;
  readonly onChanged: () => Promise<void>;
}

export function DetailsTab({ detail, onChanged }: DetailsProps) {
  const {
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
              ["Template", alias ?? templateID],
              ["Started", fullTime(startedAt)],
              [detail.state === "paused" ? "Paused" : "Ends", fullTime(endAt)],
              ["At its end", lifecycle.onTimeout === "pause" ? "it is paused" : "it is killed"],
              ["A request while it is paused", lifecycle.autoResume ? "resumes it" : "is refused"],
              ["Limits", `${cpuCount} CPU, ${megabytes(memoryMB)} of memory, ${megabytes(diskSizeMB)} of disk`],
              ["Agent", envdVersion],
            ]}
          />
        </Card>
        <Card title="From a terminal">
          <Snippet label="command" text={`./boxyard shell ${detail.sandboxID}`} />
        </Card>
      </div>
      <div class="stack">
        <NetworkCard detail={detail} onChanged={onChanged} />
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

/** What may leave the sandbox. */
function NetworkCard({ detail, onChanged }: DetailsProps) {
  const { network, allowInternetAccess, sandboxID, state } = detail;
  const [isOnline, setOnline] = useState(allowInternetAccess !== false);
  const [allowed, setAllowed] = useState((network?.allowOut ?? []).join("\n"));
  const [denied, setDenied] = useState((network?.denyOut ?? []).join("\n"));
  const closed = whyNotHere(detail);
  const save = async () => {
    // As it is now: another client may have changed what this form does not show.
    const current = await sandbox.get(sandboxID);
    if (whyNotHere(current)) return onChanged();
    await sandbox.network(sandboxID, networkUpdate(current, { isOnline, allowed, denied }));
    told("The new rules hold, for open connections too.");
    await onChanged();
  };
  return (
    <Card
      title="Connections to the outside"
      actions={
        <Button kind="primary" disabled={state !== "running" || closed !== undefined} onPress={save}>
          Apply
        </Button>
      }
    >
      {closed !== undefined && <p>{closed}</p>}
      <Checkbox label="Allowed, but for private networks and what is denied" checked={isOnline} onChange={setOnline} />
      <Field
        label="Always allowed"
        rows={3}
        mono
        placeholder="203.0.113.7"
        hint="An address or a network in a line"
        value={allowed}
        onInput={setAllowed}
      />
      <Field label="Denied" rows={3} mono placeholder="0.0.0.0/0" value={denied} onInput={setDenied} />
    </Card>
  );
}
