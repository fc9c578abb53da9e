import { expect, test } from "bun:test";
import { boot, codeOf, health, never, type Subject, TIMEOUT_MS } from "./subject.ts";

/** Proves the guarantees of `NetworkDriver`. */
export function networkTests(subject: Subject): void {
  test(
    "changes the network of a running sandbox, repeatably, also after a restart of the server",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      if (!driver.capabilities.network) {
        expect(await codeOf(driver.setNetwork(handle, { internetAccess: false }))).toBe("unimplemented");
        return;
      }
      const address = await driver.address(handle);
      for (const internetAccess of [false, false, true]) await driver.setNetwork(handle, { internetAccess });
      const lists = { allowOut: ["9.9.9.9", "1.0.0.0/8"], denyOut: ["9.9.9.0/24", "::/0"] };
      for (const internetAccess of [true, false, false]) await driver.setNetwork(handle, { internetAccess, ...lists });
      expect((await driver.keptSpec(handle)).network).toEqual({ internetAccess: false, ...lists });
      const named = { allowOut: ["9.9.9.9", "*.a.example", "b.example"], dnsServers: ["9.9.9.10"] };
      for (const _ of [1, 2]) await driver.setNetwork(handle, { internetAccess: false, ...named });
      expect((await driver.keptSpec(handle)).network).toEqual({ internetAccess: false, ...named });
      for (const bad of [
        { internetAccess: true, allowOut: ["a.example"] },
        { internetAccess: false, allowOut: ["a..example"] },
      ])
        expect(await codeOf(driver.setNetwork(handle, bad))).toBe("invalid_argument");
      await subject().reopen();
      await subject().driver.recover(handle);
      await subject().driver.setNetwork(handle, { internetAccess: false });
      // The server reaches the agent with any policy.
      expect(await health(address)).toBe(204);
      await subject().driver.signal(handle, "SIGKILL");
      await subject().driver.wait(handle, never);
      expect(await codeOf(subject().driver.setNetwork(handle, { internetAccess: true }))).toBe("not_found");
    },
    TIMEOUT_MS,
  );

  test(
    "finds nothing on an unused loopback port, and is not_found for a destroyed sandbox",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      if (!driver.capabilities.loopback) {
        expect(await codeOf(driver.connectInside(handle, 9, never))).toBe("unimplemented");
        return;
      }
      expect(await driver.connectInside(handle, 9, never)).toBeUndefined();
      await driver.destroy(handle);
      expect(await codeOf(driver.connectInside(handle, 9, never))).toBe("not_found");
    },
    TIMEOUT_MS,
  );
}
