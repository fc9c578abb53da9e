import { useResource } from "../lib/resource.ts";
import { ownAnswer, type SessionInfo } from "../lib/session.ts";
import { Card, Facts, Page } from "../ui/page.tsx";
import { Loaded } from "../ui/state.tsx";
import { Table } from "../ui/table.tsx";

interface Settings {
  readonly inForce: Readonly<Record<string, unknown>>;
  readonly variables: readonly { readonly name: string; readonly meaning: string; readonly default: string }[];
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? "not set"));

/** `maxSandboxes` as `max sandboxes`. */
const wordsOf = (name: string): string => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

export function SettingsPage({ session }: { session: SessionInfo }) {
  const settings = useResource("settings", () => ownAnswer<Settings>("settings"));
  return (
    <Page
      title="Settings"
      subtitle={`Boxyard ${session.version}. They come from the environment of the server, and hold until it is started again.`}
    >
      <Loaded from={settings}>
        {({ inForce, variables }) => (
          <>
            <Card title="In force">
              <Facts
                facts={Object.entries(inForce).map(
                  ([name, value]) => [wordsOf(name), <span class="mono break">{textOf(value)}</span>] as const,
                )}
              />
            </Card>
            <Card title="Variables">
              <Table
                label="Variables"
                rows={variables}
                keyOf={({ name }) => name}
                columns={[
                  { name: "Variable", cell: ({ name }) => <code>{name}</code> },
                  { name: "Meaning", cell: ({ meaning }) => <span class="wrap">{meaning.replaceAll("`", "")}</span> },
                  { name: "Default", cell: (row) => <span class="wrap muted">{row.default.replaceAll("`", "")}</span>, wideOnly: true },
                ]}
              />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}
