import { expect, test } from "bun:test";
import { envelope } from "../agent/support/rpc.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test("a command gets the trace of the call that started it, unless the call sets the variable itself", async () => {
  await using sandbox = await createSandbox(platform());
  // biome-ignore lint/suspicious/noExplicitAny: the public client keeps the token to itself.
  const token = (sandbox.client as any).envdAccessToken as string;
  const printed = async (traceparent?: string, envs: Record<string, string> = {}) => {
    const response = await fetch(`${platform().apiUrl}/process.Process/Start`, {
      method: "POST",
      headers: {
        ...{ "Svc-Sandbox-Id": sandbox.id, "Svc-Sandbox-Port": "49983", "X-Access-Token": token },
        ...{ "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1", Authorization: `Basic ${btoa("user:")}` },
        ...(traceparent !== undefined && { traceparent }),
      },
      body: new Blob([envelope({ process: { cmd: "/bin/sh", args: ["-c", 'printf "<%s>" "$TRACEPARENT"'], envs }, stdin: false })]),
    });
    const text = await response.text();
    return atob(/"stdout":"([^"]*)"/.exec(text)?.[1] ?? "");
  };
  expect(await printed(TRACEPARENT)).toBe(`<${TRACEPARENT}>`);
  expect(await printed()).toBe("<>");
  expect(await printed("no trace")).toBe("<>");
  expect(await printed(TRACEPARENT, { TRACEPARENT: "own" })).toBe("<own>");
});
