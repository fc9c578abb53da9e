import { afterAll, afterEach, beforeAll, describe } from "bun:test";
import { checkpointTests } from "./checkpoint.ts";
import { imageTests } from "./images.ts";
import { networkTests } from "./network.ts";
import { processTests, recordTests } from "./runtime/index.ts";
import { layerTests } from "./storage/layers.ts";
import { snapshotTests } from "./storage/snapshots.ts";
import { volumeMountTests, volumeTests } from "./storage/volumes.ts";
import { type ContractSubject, type Subject, TIMEOUT_MS } from "./subject.ts";

export { type ContractSubject, failure } from "./subject.ts";

/** A real driver first sets up a machine, which may be emulated. */
const MAKE_TIMEOUT_MS = 600_000;

/** The suites, each with the interface that it tests. */
const SUITES = {
  /** `RuntimeDriver`: processes */
  processes: processTests,
  /** `RuntimeDriver`: what the driver stores and counts */
  records: recordTests,
  /** `NetworkDriver` */
  network: networkTests,
  /** `StorageDriver.images` */
  layers: layerTests,
  /** `StorageDriver.snapshots` */
  snapshots: snapshotTests,
  /** `StorageDriver.volumes` */
  volumes: volumeTests,
  /** `SandboxSpec.volumes` */
  volumeMounts: volumeMountTests,
  /** `CheckpointDriver` */
  checkpoint: checkpointTests,
  /** `ImageDriver` */
  images: imageTests,
} as const satisfies Readonly<Record<string, (subject: Subject) => void>>;

export type SuiteName = keyof typeof SUITES;

const ALL_SUITES = Object.keys(SUITES) as readonly SuiteName[];

/** Tests the documented guarantees of a driver's parts, with the same suites for every driver. Uses `bun:test`. */
export function driverContract(name: string, make: () => Promise<ContractSubject>, suites: readonly SuiteName[] = ALL_SUITES): void {
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
      await subject().mend();
      const { driver } = subject();
      for (const handle of await driver.list()) await driver.destroy(handle);
      // They belong to no sandbox.
      for (const { id } of await driver.snapshots.list()) await driver.snapshots.remove(id);
      for (const { id } of await driver.volumes.list()) await driver.volumes.remove(id);
    }, TIMEOUT_MS);
    afterAll(() => holder.subject?.dispose(), TIMEOUT_MS);

    for (const suite of suites) describe(suite, () => SUITES[suite](subject));
  });
}
