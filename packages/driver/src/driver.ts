import type { CheckpointCapabilities, CheckpointDriver } from "./checkpoint/checkpoint.ts";
import type { ImageCapabilities, ImageDriver } from "./images/images.ts";
import type { NetworkCapabilities, NetworkDriver } from "./network/network.ts";
import type { RuntimeCapabilities, RuntimeDriver } from "./runtime/runtime.ts";
import type { StorageCapabilities, StorageDriver } from "./storage/storage.ts";

/**
 * How sandboxes exist somewhere: on this machine (`driver-local`), as pods (`driver-kubernetes`), or not at all (`fake`).
 *
 * | part | directory | is about |
 * |---|---|---|
 * | `RuntimeDriver` | `runtime/` | create, start, watch, freeze and end sandboxes; list what is left of them |
 * | `NetworkDriver` | `network/` | whom a sandbox may speak with, and the ways in |
 * | `StorageDriver` | `storage/`, `snapshots.ts` | what is kept on disk, layers and snapshots: list and remove |
 * | `CheckpointDriver` | `checkpoint/` | pause, resume, and the way back |
 * | `ImageDriver` | `images/` | make layers, and give their tars out |
 *
 * Each directory holds the part's prose and types, its capabilities, and its contract suite; `contract-suite.ts` runs them. The fake of a part
 * is below `fake/`.
 *
 * **Capabilities.** What a driver can do is declared in `capabilities`. A call that needs an absent one throws `unimplemented`; the server
 * asks first, and has another way or a clear error.
 */
export type SandboxDriver = RuntimeDriver & NetworkDriver & StorageDriver & CheckpointDriver & ImageDriver;

export type DriverCapabilities = RuntimeCapabilities &
  NetworkCapabilities &
  StorageCapabilities &
  CheckpointCapabilities &
  ImageCapabilities;
