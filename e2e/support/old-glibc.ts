import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import { formatDeb822, machineAptSettings, machineRelease, machineSources } from "@boxyard/driver-local/setup";
import { readTestConfig, runProgram } from "@boxyard/testkit";

/** Debian 11, with a glibc of 2020: the oldest release that the mirrors still serve. */
const RELEASE = "bullseye";
export const OLD_GLIBC = "2.31";
/** A shell and the usual programs, with the libraries that they load. */
const PACKAGES = ["libc6", "bash", "coreutils", "libtinfo6", "libselinux1", "libpcre2-8-0", "libattr1", "libacl1"];
/** Of Debian's own package; its keys are those that signed the old release. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
const APT_LIMIT_MS = 120_000;

/**
 * Path of a tar of a small tree of the old release: from the cache, else made of packages from the machine's own Debian mirror, which apt checks
 * against Debian's keys. Throws with apt's words when the mirror does not serve the release, or no longer.
 */
export async function oldGlibcTar(): Promise<string> {
  const { cacheDir } = readTestConfig();
  const key = createHash("sha256")
    .update(JSON.stringify([RELEASE, PACKAGES, arch()]))
    .digest("hex")
    .slice(0, 16);
  const tar = join(cacheDir, `old-glibc-${key}.tar`);
  if (existsSync(tar)) return tar;
  const work = mkdtempSync(join(tmpdir(), "boxyard-old-glibc-"));
  const aside = `${tar}.${process.pid}`;
  try {
    await download(work);
    await pack(work);
    mkdirSync(cacheDir, { recursive: true, mode: 0o711 });
    copyFileSync(join(work, "tree.tar"), aside);
    renameSync(aside, tar);
  } finally {
    rmSync(aside, { force: true });
    rmSync(work, { recursive: true, force: true });
  }
  return tar;
}

/** Puts the packages into `work`, with lists and settings of apt's that are the directory's own: the machine's lists, cache and hooks stay untouched. */
async function download(work: string): Promise<void> {
  const { codename } = machineRelease();
  const own = machineSources(codename).find((source) => source.suites.includes(codename));
  if (!own) throw new Error(`the machine's package sources have updates of '${codename}' only, not the release itself`);
  for (const directory of ["lists/partial", "archives/partial", "etc"]) mkdirSync(join(work, directory), { recursive: true });
  writeFileSync(join(work, "old.sources"), formatDeb822([{ ...own, suites: [RELEASE], components: ["main"], signedBy: KEYRING }]));
  const settings = [
    ...(await machineAptSettings(readTestConfig().env)),
    `Dir::Etc "${work}/etc"`,
    `Dir::Etc::sourcelist "${work}/old.sources"`,
    `Dir::State::lists "${work}/lists"`,
    'Dir::State::status "/dev/null"',
    `Dir::Cache "${work}"`,
    // The directory is root's alone.
    'APT::Sandbox::User "root"',
    'Acquire::Languages "none"',
  ];
  writeFileSync(join(work, "apt.conf"), settings.map((setting) => `${setting};\n`).join(""));
  const env = { ...readTestConfig().env, APT_CONFIG: join(work, "apt.conf") };
  const fix = `does the machine's mirror still serve ${RELEASE}?`;
  await must(["apt-get", "update"], { cwd: work, env, fix });
  await must(["apt-get", "download", ...PACKAGES], { cwd: work, env, fix });
}

async function pack(work: string): Promise<void> {
  const tree = join(work, "tree");
  const packages = readdirSync(work).filter((name) => name.endsWith(".deb"));
  if (packages.length !== PACKAGES.length) throw new Error(`apt-get download left ${packages.length} packages of ${PACKAGES.length}`);
  for (const name of packages) await must(["dpkg-deb", "--extract", name, tree], { cwd: work });
  await must(["tar", "--create", "--file=tree.tar", "--directory=tree", "--exclude=./usr/share", "."], { cwd: work });
}

interface Must {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** What to look at when it fails. */
  readonly fix?: string;
}

async function must(argv: readonly string[], { fix, ...options }: Must): Promise<void> {
  const { exitCode, stdout, stderr } = await runProgram(argv, { ...options, limitMs: APT_LIMIT_MS });
  if (exitCode !== 0) throw new Error(`${argv.join(" ")} failed with ${exitCode}${fix ? `; ${fix}` : ""}\n${stdout}${stderr}`);
}
