import type { Step } from "@boxyard/core";
import type { CreateContext, StartContext } from "../sandbox/parts.ts";
import { awaitStartedAgent } from "./await-agent.ts";
import { bundle } from "./bundle.ts";
import { cgroup } from "./cgroup.ts";
import { create } from "./create.ts";
import { limits } from "./limits.ts";
import { network } from "./network.ts";
import { rootfs } from "./rootfs.ts";
import { start } from "./start.ts";

/**
 * How a sandbox is created: after these steps none of its programs runs yet, and everything is confined. All have the same undo, which
 * `claimSandbox` registers before the first: the removal of the sandbox.
 */
export const createSteps: readonly Step<CreateContext>[] = [rootfs, cgroup, bundle, create, limits, network];

/** How a created sandbox is started. */
export const startSteps: readonly Step<StartContext>[] = [start, awaitStartedAgent];
