import { becomeUser } from "./privileges.ts";
import type { EgressProxyConfig, FromProxy, ToProxy } from "./protocol.ts";
import { EgressProxy } from "./proxy.ts";

/*
 * The egress proxy: a process of its own, because what sandboxes send must not be parsed in the server. The server starts it in the network namespace of
 * the router. Usage: main.ts CONFIG (JSON); the messages of `protocol.ts` on standard input and output. It ends when its standard input ends.
 */

const say = (message: FromProxy) => process.stdout.write(`${JSON.stringify(message)}\n`);

function hear(proxy: EgressProxy, message: ToProxy): void {
  switch (message.type) {
    case "rules":
      proxy.setRules(message.address, message.policy);
      say({ type: "done", id: message.id });
      return;
    case "trust":
      proxy.trust = message.pem;
      return;
    case "certificate":
      proxy.certificates.take(message.host, message);
  }
}

async function main(config: EgressProxyConfig): Promise<void> {
  const proxy = new EgressProxy(config, (host) => say({ type: "certificate", host }));
  await proxy.open();
  if (config.user !== undefined) becomeUser(config.user);
  say({ type: "ready" });
  for await (const line of console) hear(proxy, JSON.parse(line) as ToProxy);
  process.exit(0);
}

// No `await` here: as a bundle with bytecode the program is a CommonJS module.
void main(JSON.parse(process.argv[2] ?? "") as EgressProxyConfig);
