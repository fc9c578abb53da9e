import { statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { baseTar } from "./base/build.ts";
import { readSettings, type TemplateSettings } from "./base/recipe.ts";
import { base } from "./stages/base.ts";
import type { Reporter, SetupConfig } from "./types.ts";

/** What the base template is made from: its files, and the settings of its sandboxes. */
export interface BaseTree {
  /** Path of the tar in the cache. */
  readonly tar: string;
  readonly settings: TemplateSettings;
}

/** Builds the base template's tree again, from the current packages. The installed template stays as it is. */
export async function rebuildBase(config: SetupConfig, reporter: Reporter): Promise<BaseTree> {
  if (process.getuid?.() !== 0) throw new AppError("permission_denied", "this needs root: run it with sudo", { reason: "not_root" });
  const report = reporter.begin(base);
  try {
    const tar = await baseTar(config, report, { fresh: true });
    report.result(`${(statSync(tar).size / 1e6).toFixed(0)} MB`);
    reporter.end(base);
    return { tar, settings: readSettings() };
  } catch (error) {
    reporter.end(base, error);
    throw error;
  }
}
