import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";
import { envelope, FLAG_END } from "@boxyard/spec";

const TOKEN = "token-of-the-tests";

interface ProcessMessage {
  readonly event?: {
    readonly data?: { readonly stdout?: string; readonly stderr?: string };
    readonly end?: { readonly exitCode?: number; readonly status?: string };
  };
}

/** Runs a line of the shell in a sandbox, as root, and returns its output. */
export async function callAgent(driver: SandboxDriver, handle: SandboxHandle, line: string): Promise<string> {
  const { host, agentPort } = await driver.address(handle);
  const { initKey = "" } = await driver.keptSpec(handle);
  const url = `http://${host}:${agentPort}`;
  const settings = { accessToken: TOKEN, defaultUser: "root", defaultWorkdir: "/", timestamp: new Date().toISOString() };
  const init = await fetch(`${url}/init`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Init-Key": initKey },
    body: JSON.stringify(settings),
    keepalive: false,
  });
  if (init.status !== 204) throw new Error(`/init answered ${init.status}: ${await init.text()}`);
  const response = await fetch(`${url}/process.Process/Start`, {
    method: "POST",
    headers: {
      "X-Access-Token": TOKEN,
      Authorization: `Basic ${btoa("root:")}`,
      "Content-Type": "application/connect+json",
      "Connect-Protocol-Version": "1",
    },
    body: envelope(0, JSON.stringify({ process: { cmd: "/bin/sh", args: ["-c", line] }, stdin: false })),
    keepalive: false,
  });
  if (response.status !== 200) throw new Error(`the agent answered ${response.status}: ${await response.text()}`);
  let output = "";
  let ended = false;
  for (const { event } of messagesOf(new Uint8Array(await response.arrayBuffer()))) {
    output += Buffer.from(event?.data?.stdout ?? "", "base64").toString();
    const { end } = event ?? {};
    ended ||= end !== undefined;
    if (end && (end.exitCode ?? 0) !== 0) throw new Error(`'${line}' ended with ${end.exitCode}: ${end.status}`);
  }
  if (!ended) throw new Error(`'${line}' did not end`);
  return output;
}

/** The messages of a stream of Connect, without the one that ends it. */
function messagesOf(bytes: Uint8Array): ProcessMessage[] {
  const messages: ProcessMessage[] = [];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + 5 <= bytes.byteLength; ) {
    const length = view.getUint32(at + 1);
    const text = new TextDecoder().decode(bytes.subarray(at + 5, at + 5 + length));
    if ((view.getUint8(at) & FLAG_END) === 0) messages.push(JSON.parse(text) as ProcessMessage);
    at += 5 + length;
  }
  return messages;
}
