import type { Event } from "@boxyard/spec/platform-types";
import { useMemo, useState } from "preact/hooks";
import { keys } from "../../lib/api.ts";
import { KINDS } from "../../lib/event-words.ts";
import { counted, fullTime } from "../../lib/format.ts";
import { useEvents } from "../../lib/live-events.ts";
import { useResource } from "../../lib/resource.ts";
import { Button } from "../../ui/button.tsx";
import { Snippet } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Choice, Field } from "../../ui/field.tsx";
import { Link } from "../../ui/link.tsx";
import { Facts, Page } from "../../ui/page.tsx";
import { Badge, Empty, Loaded } from "../../ui/state.tsx";
import { VirtualTable } from "../../ui/virtual-table.tsx";
import { columnsOf, type NameOfKey, whoOf } from "./columns.tsx";

const ORDER = { column: "Time", isDescending: true };

export function EventsPage() {
  const [kind, setKind] = useState("");
  const [action, setAction] = useState("");
  const [target, setTarget] = useState("");
  const [held, setHeld] = useState<readonly Event[] | undefined>(undefined);
  const [shown, setShown] = useState<Event | undefined>(undefined);
  const targetID = target.trim();
  const { list, error, isLive, readOlder } = useEvents({
    ...(kind !== "" && { action: action === "" ? kind : action }),
    ...(targetID !== "" && { targetID }),
  });
  const nameOf = useNames();
  const columns = useMemo(() => columnsOf(nameOf, setShown), [nameOf]);
  const rows = held ?? list;
  // Actions of the kind that have occurred among what is shown, and the one that is chosen.
  const actions = [...new Set([...(list ?? []).map((one) => one.action), action])].filter((one) => one.startsWith(`${kind}.`)).sort();
  const isFiltered = kind !== "" || targetID !== "";
  return (
    <Page
      title="Events"
      fill
      subtitle={
        <>
          <span>What has changed, and by whom: the last seven days.</span>
          <Badge state={held ? "held" : isLive ? "live" : "connecting"} />
        </>
      }
      actions={
        <Button icon={held ? "play" : "pause"} onPress={() => setHeld(held ? undefined : list)} disabled={list === undefined}>
          {held ? "Go on" : "Hold"}
        </Button>
      }
    >
      <div class="filters">
        <Field label="Target" type="search" placeholder="Id of a sandbox, a template, a key…" value={target} onInput={setTarget} mono />
        <Choice
          label="Kind"
          value={kind}
          onChange={(next) => {
            setKind(next);
            setAction("");
          }}
          options={[["", "All kinds"], ...KINDS]}
        />
        <Choice
          label="Action"
          value={action}
          onChange={setAction}
          options={[["", kind === "" ? "Choose a kind first" : "All actions"], ...actions.map((one) => [one, one] as const)]}
        />
        <p class="filter-count" role="status">
          {rows && (readOlder ? `the newest ${rows.length.toLocaleString()}` : counted(rows.length, "event"))}
        </p>
      </div>
      <Loaded from={{ data: rows, error, reload: async () => location.reload() }}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              icon="event"
              title={isFiltered ? "No event is like this" : "No event is here"}
              {...(!isFiltered && { command: "./boxyard sandbox create" })}
            >
              <p>
                {isFiltered
                  ? "Take another kind, or no target. New ones appear by themselves."
                  : "Each change leaves one. Make a sandbox, and watch:"}
              </p>
            </Empty>
          ) : (
            <VirtualTable
              label="Events"
              kind="events"
              rows={all}
              keyOf={({ id }) => String(id)}
              columns={columns}
              order={ORDER}
              onOrder={() => {}}
            />
          )
        }
      </Loaded>
      {readOlder && !held && (
        <div class="more">
          <Button onPress={readOlder}>Read older ones</Button>
        </div>
      )}
      {shown && <EventDialog event={shown} nameOf={nameOf} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

/** Names of the team's keys, where the person may see them. */
function useNames(): NameOfKey {
  const { data } = useResource("keys", keys.list, 60_000);
  return useMemo(() => {
    const names = new Map((data ?? []).map(({ id, name }) => [id, name]));
    return (id: string) => names.get(id);
  }, [data]);
}

function EventDialog({ event, nameOf, onClose }: { event: Event; nameOf: NameOfKey; onClose: () => void }) {
  const { id, timestamp, action, targetID, actor, before, after } = event;
  return (
    <Dialog title={action} onClose={onClose}>
      <div class="dialog-body">
        <Facts
          facts={[
            ["Time", fullTime(timestamp)],
            ["Target", <span class="mono break">{targetID}</span>],
            ["By", whoOf(event, nameOf)],
            ...(actor.keyID === undefined ? [] : [["Key", <span class="mono break">{actor.keyID}</span>] as const]),
            ...(actor.address === undefined ? [] : [["From", <span class="mono">{actor.address}</span>] as const]),
            ["Cursor", id],
          ]}
        />
        {before && <Snippet label="old values" text={JSON.stringify(before, null, 2)} />}
        {after && <Snippet label="new values" text={JSON.stringify(after, null, 2)} />}
        <p class="hint">
          A <Link to="/webhooks">webhook</Link> sends events like this one to your own server.
        </p>
      </div>
    </Dialog>
  );
}
