import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { findProgram, runCommand } from "../sys/run.ts";

/** Files of a private CRIU: its program, its loader and its libraries, so that it uses none of the machine's. */
export const CRIU_FILES = { program: "criu", loader: "ld.so", libraries: "lib" } as const;
/** Option of the loader beside a private CRIU, and its first argument. */
const LIBRARIES = "--library-path";
/** Oldest CRIU that can checkpoint sandboxes on current kernels. */
const LEAST = [4, 2] as const;

/** A CRIU that can be started: its file, and what comes before its own arguments. */
export interface Criu {
  readonly file: string;
  readonly args: readonly string[];
  readonly version: string;
}

/** What set-up found, in `criu/criu.json` of the data directory: the program, or why there is none that works. */
export interface CriuFacts {
  readonly version: 1;
  readonly criu?: Criu;
  /** Why memory cannot be written to disk; a sentence for users. */
  readonly problem?: string;
  /** Release of the kernel that it was tried on. */
  readonly kernel: string;
}

export const criuDirectory = (dataDir: string): string => join(dataDir, "criu");
export const criuFactsFile = (dataDir: string): string => join(criuDirectory(dataDir), "criu.json");

/** What set-up found; undefined when it has not looked. */
export function readCriuFacts(dataDir: string): CriuFacts | undefined {
  const path = criuFactsFile(dataDir);
  if (!existsSync(path)) return undefined;
  try {
    const facts = JSON.parse(readFileSync(path, "utf8")) as CriuFacts;
    return facts.version === 1 ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** The CRIU that pauses use; undefined when none works here. */
export function workingCriu(dataDir: string): Criu | undefined {
  const facts = readCriuFacts(dataDir);
  return facts?.problem === undefined ? facts?.criu : undefined;
}

export const kernelRelease = (): string => release();

/** `4.2.1` for `Version: 4.2.1`; undefined when the output has no version. */
export function criuVersion(output: string): string | undefined {
  return /\bVersion: (\d+\.\d+(?:\.\d+)?)/.exec(output)?.[1];
}

/** True from version 4.2 on. */
export function isCriuNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
}

/** The machine's own CRIU, if it is new enough. */
export async function machineCriu(): Promise<Criu | undefined> {
  const file = findProgram("criu");
  return file === undefined ? undefined : ifNewEnough(file, []);
}

/** The CRIU in a directory that `privateCriu` made, started through the loader beside it. Undefined when it does not start or is too old. */
export async function criuIn(directory: string): Promise<Criu | undefined> {
  const at = (name: keyof typeof CRIU_FILES) => join(directory, CRIU_FILES[name]);
  return ifNewEnough(at("loader"), [LIBRARIES, at("libraries"), at("program")]);
}

/** The same CRIU, with a library that is loaded before its own. The machine's own CRIU stays as it is, since the library is an option of our loader. */
export const withPreload = (criu: Criu, library: string): Criu =>
  criu.args[0] === LIBRARIES ? { ...criu, args: ["--preload", library, ...criu.args] } : criu;

async function ifNewEnough(file: string, args: readonly string[]): Promise<Criu | undefined> {
  try {
    const version = criuVersion(await runCommand([file, ...args, "--version"]));
    return version !== undefined && isCriuNewEnough(version) ? { file, args, version } : undefined;
  } catch {
    return undefined;
  }
}
