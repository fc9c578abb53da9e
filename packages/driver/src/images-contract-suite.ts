import { afterAll, afterEach, beforeAll, describe } from "bun:test";
import { TIMEOUT_MS } from "./contract-subject.ts";
import { imageTests } from "./images/contract-suite.ts";
import type { ImagesSubject } from "./images-subject.ts";
import { storageTests } from "./storage/contract-suite.ts";

export type { ImagesSubject } from "./images-subject.ts";

const MAKE_TIMEOUT_MS = 600_000;

/**
 * Proves the guarantees in the prose of the parts storage and images that can be tested through the contract alone; the same suite for every driver.
 * Uses `bun:test`.
 */
export function imagesContract(name: string, make: () => Promise<ImagesSubject>): void {
  describe(`images contract: ${name}`, () => {
    const holder: { subject?: ImagesSubject } = {};
    const subject = () => {
      if (!holder.subject) throw new Error("the subject was not made");
      return holder.subject;
    };
    beforeAll(async () => {
      holder.subject = await make();
    }, MAKE_TIMEOUT_MS);
    afterEach(async () => {
      const { driver } = subject();
      for (const handle of await driver.list()) await driver.destroy(handle);
    }, TIMEOUT_MS);
    afterAll(() => holder.subject?.dispose(), TIMEOUT_MS);

    imageTests(subject);
    describe("storage", () => storageTests(subject));
  });
}
