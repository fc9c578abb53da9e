import { becomeUser } from "./privileges.ts";
import type { EgressProxyConfig, FromProxy, ToProxy } from "./protocol.ts";
import { EgressProxy, type ProxyReports } from "./proxy.ts";

/*
 * The egress proxy: a process of its own, because what sandboxes send must not be parsed in the server. The server starts it in the network namespace of
 * the router. Usage: main.ts CONFIG (JSON); the messages of `protocol.ts` on standard input and output. It ends when its standard input ends.
 */

/** Longest wait for the disk at the end. */
const CLOSE_MS = 1000;

const say = (message: FromProxy) => process.stdout.write(`${JSON.stringify(message)}\n`);

function hear(proxy: EgressProxy, message: ToProxy): void {
  switch (message.type) {
    case "rules":
      void proxy.setRules(message.address, message.policy).then(() => say({ type: "done", id: message.id }));
      return;
    case "trust":
      proxy.trust = message.pem;
      return;
    case "certificate":
      proxy.certificates.take(message.host, message);
  }
}

async function main(config: EgressProxyConfig): Promise<void> {
  const reports: ProxyReports = {
    onMiss: (miss) => say({ type: "miss", ...miss }),
    onTraffic: (report) => say({ type: "traffic", ...report }),
    onStopped: (id, reason) => say({ type: "stopped", recording: id, reason }),
  };
  const proxy = new EgressProxy(config, (host) => say({ type: "certificate", host }), reports);
  await proxy.open();
  if (config.user !== undefined) becomeUser(config.user);
  say({ type: "ready" });
  for await (const line of console) hear(proxy, JSON.parse(line) as ToProxy);
  await Promise.race([proxy.close(), Bun.sleep(CLOSE_MS)]);
  process.exit(0);
}

// No `await` here: as a bundle with bytecode the program is a CommonJS module.
void main(JSON.parse(process.argv[2] ?? "") as EgressProxyConfig);
