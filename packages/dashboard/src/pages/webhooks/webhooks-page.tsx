import type { CreatedWebhook } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { useResource } from "../../lib/resource.ts";
import { webhooks } from "../../lib/team-api.ts";
import { Button } from "../../ui/button.tsx";
import { Snippet } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Badge, Empty, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";
import { WebhookDialog } from "./webhook-dialog.tsx";

export function WebhooksPage() {
  const list = useResource("webhooks", webhooks.list, 5000);
  const [isCreating, setCreating] = useState(false);
  const [made, setMade] = useState<CreatedWebhook | undefined>(undefined);
  return (
    <Page
      title="Webhooks"
      subtitle="The server sends events to addresses of yours, signed, and tries again for hours when one does not answer."
      actions={
        <Button kind="primary" icon="plus" onPress={() => setCreating(true)}>
          Create a webhook
        </Button>
      }
    >
      <Loaded from={list}>
        {(all) =>
          all.length === 0 ? (
            <Empty
              icon="webhook"
              title="No webhook is here"
              command="./boxyard webhook create ci https://hooks.example/events --events build"
            >
              <p>
                Programs of yours can follow what happens here, without asking again and again. Press Create a webhook, or use a terminal:
              </p>
            </Empty>
          ) : (
            <Table
              label="Webhooks"
              rows={all}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: "Name",
                  cell: ({ id, name }) => (
                    <Link to={`/webhooks/${id}`} class="strong">
                      {name}
                    </Link>
                  ),
                },
                { name: "State", cell: ({ enabled }) => <Badge state={enabled ? "on" : "off"} /> },
                { name: "Address", cell: ({ url }) => <span class="mono one-line">{url}</span>, wideOnly: true },
                {
                  name: "Events",
                  cell: ({ events }) => (
                    <span class="chips">
                      {events.map((event) => (
                        <span key={event} class="chip">
                          {event}
                        </span>
                      ))}
                    </span>
                  ),
                  wideOnly: true,
                },
                { name: "Waiting", cell: ({ waiting }) => waiting.toLocaleString(), isNumber: true },
                {
                  name: "Given up",
                  cell: ({ dead }) => <span class={dead > 0 ? "bad-text strong" : ""}>{dead.toLocaleString()}</span>,
                  isNumber: true,
                },
              ]}
            />
          )
        }
      </Loaded>
      {isCreating && (
        <WebhookDialog
          onClose={() => setCreating(false)}
          onMade={async (webhook) => {
            await list.reload();
            setMade(webhook);
          }}
        />
      )}
      {made?.signatureSecret !== undefined && (
        <Dialog title={`The secret of ${made.name}`} onClose={() => setMade(undefined)}>
          <div class="dialog-body">
            <p>Your server checks the signature of each delivery with it. It is shown this one time.</p>
            <Snippet label="secret" text={made.signatureSecret} />
          </div>
        </Dialog>
      )}
    </Page>
  );
}
