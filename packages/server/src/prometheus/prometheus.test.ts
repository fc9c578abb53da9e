import { expect, test } from "bun:test";
import { TestServer } from "../testing/test-server.ts";

async function scrape(s: TestServer, headers: Record<string, string> = {}): Promise<{ status: number; text: string; type: string | null }> {
  const response = await fetch(`${s.url}/metrics`, { headers });
  return { status: response.status, text: await response.text(), type: response.headers.get("content-type") };
}

/** The value of a line, such as `boxyard_sandboxes{state="running"}`. */
const countOf = (text: string, name: string) =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.slice(name.length + 1),
  );

test("a holder of a key reads what the server counts: sandboxes, how long their changes took, requests, refusals, changes, the process", async () => {
  await using s = await TestServer.start({ env: { BOXYARD_MAX_SANDBOXES: "2" } });
  const [one, two] = [await s.create(), await s.create()];
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(429);
  await s.call("POST", `/sandboxes/${one.sandboxID}/pause`);
  await s.call("DELETE", `/sandboxes/${two.sandboxID}`);
  const { status, text, type } = await scrape(s, { authorization: `Bearer ${s.apiKey}` });
  expect([status, type]).toEqual([200, expect.stringContaining("text/plain")]);
  const values = Object.fromEntries(
    [
      'boxyard_sandboxes{state="running"}',
      'boxyard_sandboxes{state="paused"}',
      'boxyard_transition_seconds_count{transition="create",result="ok"}',
      'boxyard_transition_seconds_count{transition="pause",result="ok"}',
      'boxyard_transition_seconds_count{transition="kill",result="ok"}',
      'boxyard_step_seconds_count{transition="create",step="start"}',
      'boxyard_api_request_seconds_count{method="POST",status="201"}',
      'boxyard_changes_total{action="sandbox.paused"}',
      'boxyard_builds{state="queued"}',
      "boxyard_store_degraded",
    ].map((name) => [name, countOf(text, name)]),
  );
  expect(Object.values(values)).toEqual([0, 1, 2, 1, 1, 2, 2, 1, 0, 0]);
  expect(text).toMatch(/^boxyard_refusals_total\{reason="[a-z_]+"\} 1$/m);
  for (const name of [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "boxyard_memory_limit_bytes",
    "boxyard_store_seconds_count",
  ])
    expect(countOf(text, name)).toBeGreaterThan(0);
  // What users choose is no label.
  expect(text).not.toContain(one.sandboxID);
});

test("others are refused, unless the setting serves everybody or nobody", async () => {
  await using s = await TestServer.start();
  expect([(await scrape(s)).status, (await scrape(s, { authorization: "Bearer e2b_00" })).status]).toEqual([401, 401]);
  expect((await scrape(s, { "x-api-key": s.apiKey })).status).toBe(200);
  await using open = await TestServer.start({ env: { BOXYARD_METRICS: "open" } });
  expect((await scrape(open)).status).toBe(200);
  await using off = await TestServer.start({ env: { BOXYARD_METRICS: "off" } });
  expect((await scrape(off, { "x-api-key": off.apiKey })).status).toBe(404);
});
