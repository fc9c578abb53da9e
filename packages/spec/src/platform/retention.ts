import { z } from "zod";
import { named } from "../openapi.ts";
import { SandboxResources } from "./sandbox.ts";

const MOST = 1e9;
const whole = (least: number) =>
  z.int("must be a whole number").min(least, `must be at least ${least}`).max(MOST, `must be at most ${MOST}`);
const age = whole(1).optional().meta({
  description:
    "Hours for which each is kept; of a paused sandbox since its pause, of a build since its last use, of a recording since something was kept last",
});
const count = whole(0).optional().meta({ description: "How many are kept, the newest" });
const size = whole(0).optional().meta({ description: "MiB that those that are kept may take together, the newest first" });

const RetentionRule = z.object({ maxAgeHours: age, maxCount: count, maxMB: size }).meta(named("RetentionRule"));

/** What is deleted by itself, in the order in which it is looked for. Builds share their layers, whose size BOXYARD_MAX_BUILD_CACHE_MIB bounds. */
export const Retention = z
  .object({
    paused: RetentionRule.optional().meta({ description: "Paused sandboxes" }),
    snapshots: RetentionRule.optional().meta({ description: "Snapshots from which no sandbox was made that still exists" }),
    builds: z.object({ maxAgeHours: age, maxCount: count }).optional().meta({ description: "Builds that no tag points to" }),
    recordings: RetentionRule.optional().meta({
      description: "Recordings of exchanges by HTTP that no sandbox uses; rules of templates do not hold for them",
    }),
    warnHours: whole(0)
      .optional()
      .meta({ description: "How long before a deletion an event announces it; 24 by default, and nothing is deleted earlier" }),
  })
  .meta(named("Retention"));
export type Retention = z.infer<typeof Retention>;
export type RetentionRule = z.infer<typeof RetentionRule>;

const RETENTION_KINDS = ["paused", "snapshots", "builds", "recordings"] as const;
export type RetentionKind = (typeof RETENTION_KINDS)[number];

/** Unlike a size that is asked for, it may be empty: no more than the machine's limits. */
export const MaxResources = z.object(SandboxResources.shape).meta(named("SandboxMaxResources"));
