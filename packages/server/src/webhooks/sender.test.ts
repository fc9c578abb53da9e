import { afterEach, beforeEach, expect, test } from "bun:test";
import { systemClock, type TeamId } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { FetchPolicy } from "../registry/fetch-policy.ts";
import { Transport } from "../registry/transport.ts";
import { SqlStore } from "../store/index.ts";
import { WebhookSender } from "./sender.ts";

const teamId = "t" as TeamId;
const WEBHOOK = { id: "w", teamId, name: "w", events: ["secret"], enabled: true, createdAt: 1, secret: "secret-of-it" };
let store: SqlStore;
let sender: WebhookSender | undefined;
beforeEach(async () => {
  store = await SqlStore.open({ file: ":memory:" }, "here");
});
afterEach(async () => {
  await sender?.stop();
  await store.close();
});

const event = (name: string) => store.secrets.add({ id: `sec_${name}`, teamId, name, value: "x", metadata: {}, createdAt: 1 }, 9999);
function startSender(transport: Pick<Transport, "fetch">, logger = silentLogger): void {
  sender = new WebhookSender({ store, clock: systemClock, logger, transport, backoffMs: [] });
  sender.start();
}

test("a name that leads to this machine or a private network is not sent to, whatever it led to before", async () => {
  let asked = 0;
  const lookup = async () => {
    asked++;
    return ["127.0.0.1", "10.0.0.1", "169.254.169.254"];
  };
  const fetchPolicy = new FetchPolicy({ lookup });
  // At the create the name alone is looked at.
  expect(fetchPolicy.checkName(new URL("https://rebind.example/x"), "rebind.example")).toBe("unlisted");
  await store.webhooks.add({ ...WEBHOOK, url: "https://rebind.example/x" }, 9);
  startSender(new Transport({ fetchPolicy }));
  await event("one");
  await eventually("it is given up", async () => (await store.deliveries.list("w", "dead", 9)).length === 1, { withinMs: 20_000 });
  expect(asked).toBe(1);
  const [dead] = await store.deliveries.list("w", "dead", 9);
  expect(dead?.answer).toContain("it is not in a public network");
});

test("the queue of a webhook has a bound, and the log tells what it loses", async () => {
  const lost: unknown[] = [];
  const logger = { ...silentLogger, warn: (facts: unknown) => void lost.push(facts) } as typeof silentLogger;
  await store.webhooks.add({ ...WEBHOOK, url: "https://never.example/" }, 9);
  const full = Array.from({ length: 2000 }, (_, i) => ({ id: `d${i}`, webhookId: "w", cursor: i + 1_000_000, type: "x", body: "{}" }));
  await store.deliveries.add(full, systemClock.now() + 3_600_000, 2000);
  startSender({ fetch: () => new Promise<never>(() => {}) }, logger);
  await event("one");
  await eventually("it is told", () => lost.length > 0, { withinMs: 20_000 });
  expect(lost).toEqual([{ webhook: "w", lost: 1, most: 2000 }]);
});
