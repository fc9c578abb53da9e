import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { CHECKOUT, hashSources } from "../checkout.ts";

/** Sources of the dashboard, relative to the checkout. The lock file has the versions of its packages. */
const SOURCES = [
  "packages/dashboard/src",
  "packages/dashboard/package.json",
  "packages/sdk/src",
  "packages/spec/src",
  "packages/core/src",
  "package-lock.json",
];
const BUILD_LIMIT_MS = 300_000;

/** Hash of the sources of the dashboard. */
export const dashboardKey = (): string => hashSources(SOURCES);

/**
 * Writes the dashboard's files into the new directory `target`, in a process of its own: two seconds, or some more where npm has to fetch its packages
 * first. Throws `unavailable`, reason `dashboard_build`.
 */
export async function buildDashboard(target: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const child = Bun.spawn([process.execPath, join(CHECKOUT, "packages/dashboard/src/build/main.ts"), target], {
    cwd: "/",
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: BUILD_LIMIT_MS,
  });
  const output = (await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])).join("").trim();
  const status = await child.exited;
  if (status === 0) return;
  throw new AppError("unavailable", `the dashboard cannot be built (status ${status}): ${output.slice(-2000)}`, {
    reason: "dashboard_build",
  });
}
