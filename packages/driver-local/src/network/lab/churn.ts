import { type SandboxId, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { openNetwork } from "../open-network.ts";

/** For tests: a process that opens, uses and releases a network again and again until it is killed. Arguments: directory, pid to plug in. */

const [directory = "", pid = "0"] = process.argv.slice(2);

for (let i = 0; ; i++) {
  const networks = await openNetwork({
    instance: "0000dddd",
    network: "10.219.0.0/16",
    stateDirectory: `${directory}/state`,
    runDirectory: `${directory}/run`,
    resolvConf: `${directory}/none`,
    logger: silentLogger,
  });
  const lease = networks.allocate(`i${i}` as SandboxId, 1);
  await networks.attach(lease, Number(pid), { internetAccess: true });
  if (i === 0) process.stdout.write("running\n");
  await systemClock.sleep(3);
  await networks.detach(lease);
  if (i % 2) await networks.release();
  else await networks.close();
}
