import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";
import { FetchPolicy } from "../registry/fetch-policy.ts";
import { Transport } from "../registry/transport.ts";
import type { Store } from "../store/index.ts";
import { WebhookSender } from "./sender.ts";
import { Webhooks } from "./webhooks.ts";

interface WebhookServicesDeps {
  readonly config: Pick<ServerConfig, "webhookHosts" | "proxy">;
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly webhookBackoffMs?: readonly number[];
}

/** Makes the services of webhooks. */
export function assembleWebhooks({ config, store, clock, logger, webhookBackoffMs }: WebhookServicesDeps) {
  const purpose = { verb: "sent to", thing: "a webhook", setting: "BOXYARD_WEBHOOK_HOSTS" };
  const fetchPolicy = new FetchPolicy({ privateRegistries: config.webhookHosts, proxy: config.proxy, purpose });
  const transport = new Transport({ fetchPolicy, clock });
  const webhookSender = new WebhookSender({ store, clock, logger, transport, ...(webhookBackoffMs && { backoffMs: webhookBackoffMs }) });
  return { webhookSender, webhooks: new Webhooks({ store, clock, fetchPolicy, sender: webhookSender }) };
}
