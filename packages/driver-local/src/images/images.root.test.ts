import { imagesContract } from "@boxyard/driver/images-contract-suite";
import { exec, initAgent } from "../testing/exec.ts";
import { TestMachine } from "../testing/machine.ts";

imagesContract("local", async () => {
  const machine = await TestMachine.make();
  const known = new Set<string>();
  const run = async (handle: Parameters<typeof machine.driver.address>[0], command: string) => {
    const address = await machine.driver.address(handle);
    if (!known.has(handle.sandboxId)) await initAgent(address);
    known.add(handle.sandboxId);
    const result = await exec(address, command);
    if (result.exitCode !== 0) throw new Error(`${command}: ${result.status} ${result.output}`);
    return result.output;
  };
  return {
    get driver() {
      return machine.driver;
    },
    spec: () => machine.spec(),
    reopen: () => machine.reopen(),
    write: async (handle, path, text) => void (await run(handle, `mkdir -p "$(dirname '${path}')" && printf %s '${text}' >'${path}'`)),
    read: (handle, path) => run(handle, `cat '${path}'`),
    dispose: () => machine.dispose(),
  };
});
