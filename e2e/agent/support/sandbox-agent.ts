import { bootPlatform } from "@boxyard/testkit";
import type { AgentUnderTest } from "./agent-access.ts";
import { asRoot } from "./files.ts";

/** The users that tests know beside those of the template. */
const USERS = `set -e
echo other:x:1001:1001::/home/other:/bin/bash >> /etc/passwd
sed -i -e '/^staff:/s/$/user/' -e '/^sudo:/s/$/other,user/' /etc/group && echo other:x:1001: >> /etc/group
mkdir /home/other && chown 1001:1001 /home/other`;

/** The compiled agent of a sandbox of the default template, reached through the server by its host name, as clients reach it. */
export async function startSandboxAgent(): Promise<AgentUnderTest> {
  const platform = await bootPlatform();
  const stop = async () => platform[Symbol.asyncDispose]();
  try {
    const { status, body } = await platform.api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base", timeout: 3600 } });
    if (status !== 201) throw new Error(`no sandbox: ${status} ${JSON.stringify(body)}`);
    const { sandboxID, envdAccessToken } = body as { sandboxID: string; envdAccessToken: string };
    const baseUrl = `http://49983-${sandboxID}.${platform.env.E2B_DOMAIN}`;
    const agent = { baseUrl, token: envdAccessToken, initKey: undefined, stop };
    await asRoot(agent, USERS);
    return agent;
  } catch (error) {
    await stop();
    throw error;
  }
}
