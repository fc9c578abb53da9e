import type { Stage } from "../types.ts";
import { base } from "./base.ts";
import { checkpoint } from "./checkpoint.ts";
import { forkServer } from "./fork-server.ts";
import { guest } from "./guest.ts";
import { instance } from "./instance.ts";
import { kernel } from "./kernel.ts";
import { packages } from "./packages.ts";
import { pool } from "./pool.ts";

/** All stages of set-up, in order. */
export const setupStages: readonly Stage[] = [packages, kernel, instance, guest, forkServer, pool, checkpoint, base];
