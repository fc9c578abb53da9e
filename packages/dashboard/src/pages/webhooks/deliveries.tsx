import type { Webhook, WebhookDelivery } from "@boxyard/spec/platform-types";
import { counted, shortTime } from "../../lib/format.ts";
import type { Resource } from "../../lib/resource.ts";
import { Button } from "../../ui/button.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";

interface DeliveriesProps {
  readonly webhook: Webhook;
  readonly list: Resource<WebhookDelivery[]>;
  /** Sends those with these ids again; without ids all that were given up. */
  readonly onResend: (ids?: readonly string[]) => Promise<void>;
}

/** What has not arrived yet, and what was given up. What has arrived is not kept. */
export function Deliveries({ webhook: { waiting, dead }, list, onResend }: DeliveriesProps) {
  return (
    <Card
      title="Deliveries that have not arrived"
      actions={
        <Button icon="refresh" disabled={dead === 0} onPress={() => onResend()}>
          Send all again
        </Button>
      }
    >
      <Loaded from={list}>
        {(all) =>
          all.length === 0 ? (
            <p class="muted">None. Everything that was sent has arrived, and what has arrived is not listed.</p>
          ) : (
            <>
              <p class="muted">
                {counted(waiting, "waits", "wait")} for the next attempt, {counted(dead, "was", "were")} given up
                {waiting + dead > all.length ? `; the oldest ${all.length} are listed.` : "."}
              </p>
              <Table
                label="Deliveries"
                rows={all}
                keyOf={({ id }) => id}
                columns={[
                  { name: "Event", cell: ({ type }) => <span class="mono">{type}</span> },
                  { name: "State", cell: ({ state }) => <Badge state={state === "dead" ? "given up" : state} /> },
                  { name: "Attempts", cell: ({ attempts }) => attempts, isNumber: true, wideOnly: true },
                  { name: "Last answer", cell: ({ lastAnswer = "none yet" }) => <span class="wrap">{lastAnswer}</span>, wideOnly: true },
                  { name: "Since", cell: ({ createdAt }) => shortTime(createdAt), wideOnly: true },
                  {
                    name: "Next attempt",
                    cell: ({ nextAttemptAt }) => (nextAttemptAt ? shortTime(nextAttemptAt) : "none"),
                    wideOnly: true,
                  },
                  {
                    name: "",
                    cell: ({ id, state }) => (
                      <Button kind="quiet" disabled={state !== "dead"} onPress={() => onResend([id])}>
                        Send again
                      </Button>
                    ),
                  },
                ]}
              />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}
