import { hashSources } from "../checkout.ts";
import { type Builder, runBuilder } from "./run-builder.ts";

/** Sources of the dashboard, relative to the checkout. The lock file has the versions of its packages. */
const SOURCES = [
  "packages/dashboard/src",
  "packages/dashboard/package.json",
  "packages/sdk/src",
  "packages/spec/src",
  "packages/core/src",
  "package-lock.json",
];
const BUILDER: Builder = {
  what: "the dashboard",
  program: "packages/dashboard/src/build/main.ts",
  limitMs: 300_000,
  code: "unavailable",
  reason: "dashboard_build",
};

/** Hash of the sources of the dashboard. */
export const dashboardKey = (): string => hashSources(SOURCES);

/**
 * Writes the dashboard's files into the new directory `target`, in a process of its own: two seconds, or some more where npm has to fetch its packages
 * first. Throws `unavailable`, reason `dashboard_build`.
 */
export const buildDashboard = (target: string, env: Readonly<Record<string, string | undefined>>): Promise<void> =>
  runBuilder(BUILDER, target, env);
