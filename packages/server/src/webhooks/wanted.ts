import { createHash } from "node:crypto";
import { present } from "../feed/public-event.ts";
import type { NewDelivery, Store, StoreEvent, WebhookRecord } from "../store/index.ts";
import type { KnownWebhooks } from "./known-webhooks.ts";
import { LifecycleEvents } from "./lifecycle.ts";

/** Whether a webhook wants an event of this action. */
const wants = ({ events }: WebhookRecord, action: string): boolean =>
  events.some((name) => name === "*" || name === action || name === action.split(".", 1)[0]);

/** What is to be sent of these events: each webhook gets an event once, in the contract's form where it asks for a type of that. */
export async function deliveriesOf(events: readonly StoreEvent[], known: KnownWebhooks, store: Store): Promise<NewDelivery[]> {
  const lifecycle = new LifecycleEvents(store);
  const found: NewDelivery[] = [];
  for (const event of events) {
    if (event.teamId === undefined) continue;
    for (const webhook of await known.of(event.teamId)) {
      const asks = webhook.events.some((name) => name.startsWith("sandbox.lifecycle."));
      const life = asks ? await lifecycle.of(event) : undefined;
      if (life && webhook.events.includes(life.type)) found.push(deliveryOf(webhook, event, life.type, life));
      else if (wants(webhook, event.action)) found.push(deliveryOf(webhook, event, event.action, present(event)));
    }
  }
  return found;
}

function deliveryOf(webhook: WebhookRecord, { cursor }: StoreEvent, type: string, body: object): NewDelivery {
  // The same for the same event and webhook, so that a receiver can recognise what it has had.
  const id = createHash("sha256").update(`${webhook.id} ${cursor}`).digest("hex").slice(0, 32);
  return { id, webhookId: webhook.id, cursor, type, body: JSON.stringify(body) };
}
