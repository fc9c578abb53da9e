import { expect, test } from "bun:test";
import type { SandboxHandle } from "../handle.ts";
import type { NetworkAttempt } from "../network/attempts.ts";
import { boot, codeOf, health, never, type Subject, type Target, TIMEOUT_MS } from "./subject.ts";

const isLike = (attempt: NetworkAttempt, facts: object): boolean =>
  Object.entries(facts).every(([key, value]) => attempt[key as keyof NetworkAttempt] === value);

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
    "tells once what each sandbox has tried to reach, and what decided",
    async () => {
      const { driver, spec, tryToReach } = subject();
      if (!tryToReach) {
        await boot(subject());
        expect(driver.takeAttempts()).toEqual({ attempts: [], dropped: new Map() });
        return;
      }
      const closed = () => boot(subject(), { ...spec(), network: { internetAccess: false } });
      const [first, second] = [await closed(), await closed()];
      const began = Date.now();
      const seen: NetworkAttempt[] = [];
      /** Other attempts, such as those of the sandbox's own programs, do not count. */
      const triedBy = (handle: SandboxHandle, { name, address, port }: Target) => {
        const of = { sandboxId: handle.sandboxId, isAllowed: false };
        const wanted = [
          { ...of, protocol: "dns", rule: "names", name },
          { ...of, protocol: "tcp", rule: "internetAccess", address, port },
        ];
        return tryToReach(handle, { name, address, port }, () => {
          seen.push(...driver.takeAttempts().attempts);
          return wanted.every((facts) => seen.some((attempt) => isLike(attempt, facts)));
        });
      };
      await triedBy(first, { name: "first.invalid", address: "192.0.2.1", port: 1001 });
      await triedBy(second, { name: "second.invalid", address: "192.0.2.2", port: 1002 });
      const ours = seen.filter(({ name, address }) => name?.endsWith(".invalid") || address?.startsWith("192.0.2."));
      // Each of them names its own sandbox, and a time since then; a kernel's clock may be some milliseconds behind.
      for (const { sandboxId, name, port, at } of ours) {
        expect(sandboxId).toBe(name === "first.invalid" || port === 1001 ? first.sandboxId : second.sandboxId);
        expect(at).toBeGreaterThan(began - 1000);
      }
      // What was taken does not come again, not even once the sandbox is gone.
      await driver.destroy(first);
      const later = driver.takeAttempts().attempts.filter(({ name, port }) => name === "first.invalid" || port === 1001);
      expect(later).toEqual([]);
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
