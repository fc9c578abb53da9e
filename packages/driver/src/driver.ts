import type { CheckpointCapabilities, CheckpointDriver } from "./checkpoint/checkpoint.ts";
import type { ImageCapabilities, ImageDriver } from "./images/images.ts";
import type { NetworkCapabilities, NetworkDriver } from "./network/network.ts";
import type { RuntimeCapabilities, RuntimeDriver } from "./runtime/runtime.ts";
import type { StorageCapabilities, StorageDriver } from "./storage/storage.ts";

/**
 * Makes and runs sandboxes: on this machine (`driver-local`), or as small servers in tests (`fake`). The contract leaves room for other places, such as
 * pods of a cluster.
 *
 * | part | directory | is about | suites in `contract-suite/` |
 * |---|---|---|---|
 * | `RuntimeDriver` | `runtime/` | create, start, inspect, freeze and end sandboxes; list all of which anything is left | `runtime/` |
 * | `NetworkDriver` | `network/` | which addresses a sandbox may reach, and how the server reaches its ports | `network.ts` |
 * | `StorageDriver` | `storage/` | layers, snapshots and volumes on disk: list and remove | `storage/layers.ts`, `storage/snapshots.ts`, `storage/volumes.ts` |
 * | `CheckpointDriver` | `checkpoint/` | pause, resume and revert | `checkpoint.ts` |
 * | `ImageDriver` | `images/` | make layers, and export their tars | `images.ts` |
 *
 * Each directory holds the part's prose and types, and its capabilities; `contract-suite/index.ts` runs the suites of all parts on one subject. The fakes
 * of the parts are in `fake/`.
 *
 * **Capabilities.** A driver declares its abilities in `capabilities`. A call that needs an absent capability throws `unimplemented`; the server checks
 * the capability first, and has another way or a clear error. What makes sense only on the server's own machine is behind `loopback` (descriptors) and
 * `localFiles` (paths).
 */
export type SandboxDriver = RuntimeDriver & NetworkDriver & StorageDriver & CheckpointDriver & ImageDriver;

export type DriverCapabilities = RuntimeCapabilities &
  NetworkCapabilities &
  StorageCapabilities &
  CheckpointCapabilities &
  ImageCapabilities;
