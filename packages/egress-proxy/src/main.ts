import { becomeUser } from "./privileges.ts";
import type { EgressProxyConfig, FromProxy, SetRules } from "./protocol.ts";
import { EgressProxy } from "./proxy.ts";

/*
 * The egress proxy: a process of its own, because what sandboxes send must not be parsed in the server. The server starts it in the network namespace of
 * the router. Usage: main.ts CONFIG (JSON); the messages of `protocol.ts` on standard input and output. It ends when its standard input ends.
 */

const say = (message: FromProxy) => process.stdout.write(`${JSON.stringify(message)}\n`);

async function main(config: EgressProxyConfig): Promise<void> {
  const proxy = new EgressProxy(config);
  await proxy.open();
  if (config.user !== undefined) becomeUser(config.user);
  say({ type: "ready" });
  for await (const line of console) {
    const { id, address, hosts } = JSON.parse(line) as SetRules;
    proxy.rules.set(address, hosts);
    say({ type: "done", id });
  }
  process.exit(0);
}

// No `await` here: as a bundle with bytecode the program is a CommonJS module.
void main(JSON.parse(process.argv[2] ?? "") as EgressProxyConfig);
