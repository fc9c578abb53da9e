import type { NetworkLogEntry, SandboxDetail } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { sandbox } from "../../lib/api.ts";
import { bytes, clockTime, counted, fullTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { Choice, Field } from "../../ui/field.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { NetworkPolicy } from "./network-policy.tsx";

const VERDICTS = [
  ["", "All attempts"],
  ["denied", "Denied"],
  ["allowed", "Allowed"],
] as const;

interface NetworkProps {
  readonly detail: SandboxDetail;
  readonly onChanged: () => Promise<void>;
}

/** What the sandbox may reach, and what it has tried to reach. */
export function NetworkTab({ detail, onChanged }: NetworkProps) {
  return (
    <div class="pair">
      <NetworkPolicy key={detail.sandboxID} detail={detail} onChanged={onChanged} />
      <NetworkLog id={detail.sandboxID} />
    </div>
  );
}

function NetworkLog({ id }: { id: string }) {
  const [search, setSearch] = useState("");
  const [verdict, setVerdict] = useState<string>("");
  const query = `?${new URLSearchParams({ limit: "500", ...(verdict && { verdict }), ...(search.trim() && { search: search.trim() }) })}`;
  const log = useResource(`network ${id} ${query}`, async (signal) => (await sandbox.networkLog(id, query, signal)).entries, 3000);
  return (
    <section class="stack" aria-label="What it has tried to reach">
      <div class="filters two">
        <Field label="Search the record" type="search" placeholder="A name or an address" value={search} onInput={setSearch} />
        <Choice label="Verdict" value={verdict} onChange={setVerdict} options={VERDICTS} />
      </div>
      <Loaded from={log}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty icon="search" title="No attempt">
              <p>
                {search || verdict
                  ? "No attempt matches. Search for less, or choose all attempts."
                  : "What a program in the sandbox asks the name server, and each connection that it opens, is listed here."}
              </p>
            </Empty>
          ) : (
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
            <ol class="log" tabIndex={0} aria-label="Attempts, the newest first">
              {entries.toReversed().map((entry) => (
                <Attempt key={entry.cursor} entry={entry} />
              ))}
            </ol>
          )
        }
      </Loaded>
    </section>
  );
}

function Attempt({ entry }: { entry: NetworkLogEntry }) {
  const { timestamp, verdict, protocol, rule, count } = entry;
  return (
    <li class={verdict === "allowed" ? "info" : "warn"}>
      <time title={fullTime(timestamp)}>{clockTime(timestamp)}</time>
      <span class="log-level">{verdict}</span>
      <span class="log-text">
        {verdict === "dropped"
          ? `${counted(count ?? 0, "more attempt")} that the record does not keep`
          : `${protocol ?? ""} ${goalOf(entry)}`}
        <span class="log-fields">{`${rule}${movedBy(entry)}`}</span>
      </span>
    </li>
  );
}

/** Where an attempt went: `example.com → 203.0.113.7`, `example.com:443` or `203.0.113.7:443`; of a request that a recording did not answer, the request. */
function goalOf({ name, request, address, port, answers }: NetworkLogEntry): string {
  if (request !== undefined) return request;
  const at = port === undefined ? "" : `:${port}`;
  if (name !== undefined) return answers?.length ? `${name} → ${answers.join(", ")}` : `${name}${at}`;
  return `${address ?? ""}${at}`;
}

/** What a connection has moved, where that is known. */
function movedBy({ verdict, sentBytes, receivedBytes }: NetworkLogEntry): string {
  if (verdict !== "allowed" || sentBytes === undefined || receivedBytes === undefined) return "";
  return `, sent ${bytes(sentBytes)}, received ${bytes(receivedBytes)}`;
}
