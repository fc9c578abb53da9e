import { afterAll, afterEach, beforeAll, describe } from "bun:test";
import { checkpointTests } from "./checkpoint/contract-suite.ts";
import { type ContractSubject, TIMEOUT_MS } from "./contract-subject.ts";
import { snapshotTests } from "./contract-suite-snapshots.ts";
import { networkTests } from "./network/contract-suite.ts";
import { runtimeTests } from "./runtime/contract-suite/index.ts";

export type { ContractSubject } from "./contract-subject.ts";

/** A real driver first sets up a machine, which may be emulated. */
const MAKE_TIMEOUT_MS = 600_000;

/**
 * Proves the guarantees in the prose of the parts runtime, network and checkpoint, and of snapshots; the same suite for every driver. The parts storage
 * and images have `images-contract-suite.ts`, because their tests must write files inside sandboxes. Uses `bun:test`.
 */
export function driverContract(name: string, make: () => Promise<ContractSubject>): void {
  describe(`driver contract: ${name}`, () => {
    const holder: { subject?: ContractSubject } = {};
    const subject = () => {
      if (!holder.subject) throw new Error("the subject was not made");
      return holder.subject;
    };

    beforeAll(async () => {
      holder.subject = await make();
    }, MAKE_TIMEOUT_MS);
    afterEach(async () => {
      subject().mend();
      const { driver } = subject();
      for (const handle of await driver.list()) await driver.destroy(handle);
    }, TIMEOUT_MS);
    afterAll(() => holder.subject?.dispose(), TIMEOUT_MS);

    runtimeTests(subject);
    describe("pause and resume", () => checkpointTests(subject));
    describe("snapshots", () => snapshotTests(subject));
    describe("network", () => networkTests(subject));
  });
}
