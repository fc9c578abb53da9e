import type { ServerSettings } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { ApiError } from "../lib/api-error.ts";
import { useResource } from "../lib/resource.ts";
import { server } from "../lib/server-api.ts";
import type { SessionInfo } from "../lib/session.ts";
import { Choice, Field } from "../ui/field.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Loaded } from "../ui/state.tsx";
import { Table } from "../ui/table.tsx";

type Setting = ServerSettings["settings"][number];

const ORIGINS = { default: "default", environment: "environment", file: "file" } as const;

export function SettingsPage({ session }: { session: SessionInfo }) {
  const settings = useResource("settings", server.settings);
  return (
    <Page
      title="Settings"
      subtitle={`Boxyard ${session.version}. Settings come from the server's environment, and hold until it is started again.`}
    >
      {settings.error instanceof ApiError && settings.error.status === 403 ? (
        <Empty icon="settings" title="Settings are for the operator" command="./boxyard dashboard">
          <p>Sign in with a key of the team 'default' that has the scope admin, or open the dashboard on the server's machine:</p>
        </Empty>
      ) : (
        <Loaded from={settings}>{({ settings: all }) => <List all={all} />}</Loaded>
      )}
    </Page>
  );
}

function List({ all }: { all: readonly Setting[] }) {
  const [text, setText] = useState("");
  const [origin, setOrigin] = useState("");
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = all.filter((one) => {
    if (origin !== "" && (one.origin === "default") !== (origin === "default")) return false;
    const told = `${one.name} ${one.meaning} ${one.value}`.toLowerCase();
    return words.every((word) => told.includes(word));
  });
  return (
    <>
      <div class="filters">
        <Field label="Search" type="search" placeholder="Name, meaning or value" value={text} onInput={setText} />
        <Choice
          label="Which"
          value={origin}
          onChange={setOrigin}
          options={[
            ["", "All"],
            ["set", "Set by the operator"],
            ["default", "Defaults"],
          ]}
        />
        <span />
        <p class="filter-count" role="status">
          {rows.length === all.length ? `${all.length} settings` : `${rows.length} of ${all.length}`}
        </p>
      </div>
      <Table
        label="Settings"
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            name: "Setting",
            cell: ({ name, meaning, value, origin: from }) => (
              <span class="setting">
                <code class="strong break">{name}</code>
                <span class="wrap muted">{meaning.replaceAll("`", "")}</span>
                <span class="narrow-only wrap break">
                  <span class="mono">{value.replaceAll("`", "")}</span> ({ORIGINS[from]})
                </span>
              </span>
            ),
          },
          {
            name: "In force",
            cell: ({ value }) => <span class="setting-value mono wrap break">{value.replaceAll("`", "")}</span>,
            wideOnly: true,
          },
          {
            name: "From",
            cell: ({ origin: from, file }) => (
              <span title={file}>
                <span class={`badge ${from === "default" ? "" : "busy"}`}>{ORIGINS[from]}</span>
              </span>
            ),
            wideOnly: true,
          },
          {
            name: "Instead of",
            cell: (row) => <span class="wrap muted">{row.origin === "default" ? "" : row.default.replaceAll("`", "")}</span>,
            wideOnly: true,
          },
        ]}
      />
    </>
  );
}
