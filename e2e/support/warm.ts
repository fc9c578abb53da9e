import { eventually, type Platform } from "@boxyard/testkit";

/** Settings of a server that keeps one sandbox warm. */
export const ONE_WARM = { BOXYARD_WARM_SANDBOXES: "1" };

/** A figure of the server's metrics without labels. */
export async function figure(platform: Platform, name: string): Promise<number> {
  const text = await (await fetch(`${platform.apiUrl}/metrics`, { headers: { "X-API-Key": platform.apiKey } })).text();
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

export const untilWarm = (platform: Platform): Promise<unknown> =>
  eventually("a sandbox waits", async () => (await figure(platform, "boxyard_warm_sandboxes")) > 0, { withinMs: 30_000 });
