import { useState } from "preact/hooks";
import { sandbox } from "../../lib/api.ts";
import { clockTime, fullTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { Choice, Field } from "../../ui/field.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";

const LEVELS = [
  ["debug", "All levels"],
  ["info", "Info and above"],
  ["warn", "Warnings and errors"],
  ["error", "Errors"],
] as const;

export function LogsTab({ id }: { id: string }) {
  const [search, setSearch] = useState("");
  const [level, setLevel] = useState<string>("debug");
  const query = `?${new URLSearchParams({ direction: "backward", limit: "500", level, ...(search && { search }) })}`;
  const log = useResource(`logs ${id} ${query}`, async (signal) => (await sandbox.logs(id, query, signal)).logs, 3000);
  return (
    <div class="stack">
      <div class="filters">
        <Field label="Search" type="search" placeholder="Text in an entry" value={search} onInput={setSearch} />
        <Choice label="Level" value={level} onChange={setLevel} options={LEVELS} />
      </div>
      <Loaded from={log}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty icon="file" title="No entry">
              <p>
                {search || level !== "debug"
                  ? "No entry matches. Search for less, or choose all levels."
                  : "Nothing has happened to this sandbox yet."}
              </p>
            </Empty>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
            <ol class="log" tabIndex={0} aria-label="Entries, the newest first">
              {entries.map((entry, index) => (
                <li key={`${entry.timestamp} ${index}`} class={entry.level}>
                  <time title={fullTime(entry.timestamp)}>{clockTime(entry.timestamp)}</time>
                  <span class="log-level">{entry.level}</span>
                  <span class="log-text">
                    {entry.message}
                    <Fields fields={entry.fields} />
                  </span>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
    </div>
  );
}

function Fields({ fields }: { fields: Readonly<Record<string, string>> }) {
  const pairs = Object.entries(fields);
  if (pairs.length === 0) return null;
  return <span class="log-fields">{pairs.map(([name, value]) => `${name}=${value}`).join(" ")}</span>;
}
