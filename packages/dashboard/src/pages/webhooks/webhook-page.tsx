import type { Webhook } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { counted, shortTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { webhooks } from "../../lib/team-api.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { Card, Facts, Page } from "../../ui/page.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { told } from "../../ui/toasts.tsx";
import { Deliveries } from "./deliveries.tsx";
import { WebhookDialog } from "./webhook-dialog.tsx";

export function WebhookPage({ id }: { id: string }) {
  const webhook = useResource(`webhook ${id}`, (signal) => webhooks.get(id, signal), 3000);
  const deliveries = useResource(`deliveries ${id}`, (signal) => webhooks.deliveries(id, signal), 3000);
  const [open, setOpen] = useState<"change" | "delete" | undefined>(undefined);
  const close = () => setOpen(undefined);
  const { data } = webhook;
  const reload = async () => void (await Promise.all([webhook.reload(), deliveries.reload()]));
  const resend = async (ids?: readonly string[]) => {
    told(`${counted(await webhooks.resend(id, ids), "delivery is", "deliveries are")} sent again.`);
    await reload();
  };
  const turn = async (enabled: boolean) => {
    await webhooks.update(id, { enabled });
    await reload();
  };
  return (
    <Page
      title={data?.name ?? "Webhook"}
      subtitle={<Link to="/webhooks">Webhooks</Link>}
      actions={
        data && (
          <>
            <Button icon={data.enabled ? "pause" : "play"} onPress={() => turn(!data.enabled)}>
              {data.enabled ? "Turn off" : "Turn on"}
            </Button>
            <Button icon="settings" onPress={() => setOpen("change")}>
              Change
            </Button>
            <Button kind="danger" icon="trash" onPress={() => setOpen("delete")}>
              Delete
            </Button>
          </>
        )
      }
    >
      <Loaded from={webhook}>
        {(one) => (
          <>
            <About webhook={one} />
            <Deliveries webhook={one} list={deliveries} onResend={resend} />
          </>
        )}
      </Loaded>
      {open === "change" && data && <WebhookDialog of={data} onClose={close} onChanged={reload} />}
      {open === "delete" && data && (
        <FormDialog
          title={`Delete ${data.name}?`}
          action="Delete it"
          danger
          onClose={close}
          onSubmit={async () => {
            await webhooks.remove(id);
            told(`${data.name} is deleted.`);
            go("/webhooks");
          }}
        >
          <p>
            Nothing is sent to <span class="mono break">{data.url}</span> any more.{" "}
            {counted(data.waiting + data.dead, "delivery is", "deliveries are")} forgotten.
          </p>
        </FormDialog>
      )}
    </Page>
  );
}

function About({ webhook: { id, enabled, url, events, createdAt } }: { webhook: Webhook }) {
  return (
    <Card title="Facts">
      <Facts
        facts={[
          ["State", <Badge state={enabled ? "on" : "off"} />],
          ["Address", <span class="mono break">{url}</span>],
          ["Events", <span class="mono break">{events.join(" ")}</span>],
          [
            "Id",
            <span class="address">
              <span class="mono">{id}</span>
              <CopyButton text={id} what="the id" />
            </span>,
          ],
          ["Created", shortTime(createdAt)],
        ]}
      />
    </Card>
  );
}
