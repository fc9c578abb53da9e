import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import type { CliConfig } from "../config.ts";
import { selfCommand } from "../server-control/self-command.ts";
import { environmentText, unitText } from "./unit.ts";

const UNIT_DIRECTORY = "/etc/systemd/system";
/** There while systemd is the machine's init (sd_booted(3)). */
const BOOTED = "/run/systemd/system";
const LIMIT_MS = 35 * 60_000;

export const unitPath = (name: string): string => join(UNIT_DIRECTORY, `${name}.service`);

/** Settings may hold the password of a database: only root reads them. */
const environmentPath = (config: CliConfig): string => join(config.dataDir, "service.env");

export function requireSystemd(): void {
  if (existsSync(BOOTED)) return;
  const details = { hint: "`boxyard service install --print` shows the unit; other service managers run `boxyard up` in the foreground." };
  throw new AppError("failed_precondition", "systemd does not run this machine", { reason: "no_systemd", details });
}

/** The unit for this data directory, as it would be installed. */
export function unitFor(config: CliConfig): string {
  const [setup, serve] = [selfCommand("setup"), selfCommand("serve")];
  return unitText({ setup, serve, dataDir: config.dataDir, environmentFile: environmentPath(config) });
}

/** True when the unit of this name is ours and for this data directory. */
export function isInstalled(name: string, config: CliConfig): boolean {
  try {
    return readFileSync(unitPath(name), "utf8").includes(`EnvironmentFile=${environmentPath(config).replaceAll("%", "%%")}\n`);
  } catch {
    return false;
  }
}

/** Writes unit and settings, then starts the service, now and at every boot. A failure leaves no unit behind. */
export function installUnit(name: string, config: CliConfig): void {
  if (existsSync(unitPath(name)) && !isInstalled(name, config)) {
    const details = { hint: "Choose another with --name." };
    throw new AppError("already_exists", `${unitPath(name)} is not a unit of this data directory`, { reason: "unit_taken", details });
  }
  try {
    writeWhole(environmentPath(config), environmentText(config.env, config.dataDir), 0o600);
    writeWhole(unitPath(name), unitFor(config), 0o644);
    systemctl("daemon-reload");
    systemctl("enable", "--now", `${name}.service`);
  } catch (error) {
    removeUnit(name, config);
    throw error;
  }
}

/** Ends the service and removes its files. Sandboxes keep running. Repeatable. */
export function removeUnit(name: string, config: CliConfig): void {
  // Fails for a unit that was never enabled or is half installed; its files are removed anyway.
  trySystemctl("disable", "--now", `${name}.service`);
  rmSync(unitPath(name), { force: true });
  rmSync(environmentPath(config), { force: true });
  trySystemctl("daemon-reload");
}

function writeWhole(path: string, text: string, mode: number): void {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, text, { mode });
  renameSync(temporary, path);
}

/** Runs systemctl. `ok` is false when it fails, or answers a question with no; `output` is what it printed. */
export function trySystemctl(...args: string[]): { readonly ok: boolean; readonly output: string } {
  const { status, stdout, stderr, error } = spawnSync("systemctl", args, { encoding: "utf8", timeout: LIMIT_MS });
  return { ok: status === 0, output: (error?.message ?? `${stdout}${stderr}`).trim() };
}

function systemctl(...args: string[]): void {
  const { ok, output } = trySystemctl(...args);
  if (ok) return;
  const details = { hint: "`journalctl -u boxyard` and `boxyard doctor` say more." };
  throw new AppError("internal", `systemctl ${args.join(" ")} failed: ${output}`, { reason: "systemctl", details });
}
