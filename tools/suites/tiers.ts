/**
 * How much a call of `./boxyard test` runs. `quick`: what a change is tried with again and again, in three minutes. `all`, the default: what CI runs.
 * `long`: what needs as long as it is given.
 */
export type Tier = "quick" | "all" | "long";

export interface TierRow {
  readonly suite: string;
  /** Matches the paths of the files that the row is about; without it, all files of the suite that no row before is about. */
  readonly files?: RegExp;
  /** The tiers that run this. */
  readonly tiers: readonly Tier[];
  /** About how many seconds this takes on a machine with two cores that does nothing else; `given`: the time of `--long`. */
  readonly seconds: number | "given";
  readonly because: string;
}

const [EVERY, FULL, LONG, FULL_AND_LONG] = [["quick", "all"], ["all"], ["long"], ["all", "long"]] as const;

/** What is in which tier, and why. The first row that is about a file counts. CONTRIBUTING.md shows this table. */
export const TIERS: readonly TierRow[] = [
  { suite: "needs", tiers: ["quick", "all", "long"], seconds: 1, because: "the others wait for it" },
  {
    suite: "platform",
    tiers: ["quick", "all", "long"],
    seconds: 20,
    because: "what runs sandboxes waits for it; `quick` makes no bundles",
  },
  { suite: "lint", tiers: EVERY, seconds: 6, because: "a check" },
  { suite: "types", tiers: EVERY, seconds: 8, because: "a check" },
  { suite: "boundaries", tiers: EVERY, seconds: 1, because: "a check" },
  { suite: "sizes", tiers: EVERY, seconds: 2, because: "a check" },
  { suite: "generated", tiers: EVERY, seconds: 4, because: "a check" },
  { suite: "contract", tiers: EVERY, seconds: 36, because: "what is tried on fakes holds on the real drivers and stores" },
  {
    suite: "unit",
    files:
      /^packages\/(agent\/src\/http\/java-store|cli\/src\/(cli|help|template\/template)|sdk\/src\/(sdk|publish\/built-package)|server\/src\/store\/rotate-key)\./,
    tiers: FULL,
    seconds: 30,
    because: "they start a program for each case (the command, a JDK, a server that is killed), or build the package",
  },
  { suite: "unit", tiers: EVERY, seconds: 77, because: "every part by itself; with one fault at each step of each transition" },
  {
    suite: "e2e",
    files: /^e2e\/front-door\/run\./,
    tiers: EVERY,
    seconds: 10,
    because: "one path through the front door, on a real sandbox",
  },
  {
    suite: "e2e",
    files: /^e2e\/faults\/kernel-faults\./,
    tiers: FULL_AND_LONG,
    seconds: 13,
    because: "`long` injects every fault, `all` half of them",
  },
  { suite: "e2e", tiers: FULL, seconds: 660, because: "real clients and sandboxes take minutes" },
  { suite: "root", tiers: FULL, seconds: 280, because: "the real kernel takes minutes" },
  { suite: "agent", files: /kernel-faults\./, tiers: FULL_AND_LONG, seconds: 3, because: "`long` injects every fault, `all` some of them" },
  { suite: "agent", tiers: FULL, seconds: 50, because: "compiled agents in real sandboxes" },
  { suite: "hostile", tiers: FULL, seconds: 40, because: "attacks need real sandboxes" },
  { suite: "pure-v2", tiers: FULL, seconds: 330, because: "an emulated machine is slow" },
  { suite: "kubernetes", tiers: FULL, seconds: 350, because: "a real cluster; skipped where its programs are not in the cache" },
  { suite: "chaos", tiers: FULL_AND_LONG, seconds: "given", because: "random faults find more with time; a minute in `all`" },
  { suite: "soak", tiers: LONG, seconds: "given", because: "what is lost or left shows after many lives of sandboxes" },
  { suite: "release", tiers: ["quick", "all", "long"], seconds: 2, because: "removes the platforms" },
  { suite: "leaks", tiers: ["quick", "all", "long"], seconds: 1, because: "compares the machine with what it was before" },
];

/** Whether a tier runs anything of a suite. A suite without a row is in no tier, which a test finds. */
export const hasSuite = (tier: Tier, suite: string): boolean => TIERS.some((row) => row.suite === suite && row.tiers.includes(tier));

/** The files of a suite that a tier runs. */
export function filesIn(tier: Tier, suite: string, files: readonly string[]): string[] {
  return files.filter((file) => TIERS.find((row) => row.suite === suite && (row.files?.test(file) ?? true))?.tiers.includes(tier));
}

/** The table as Markdown. */
export function tierTable(): string {
  const what = ({ suite, files }: TierRow) => (files ? `${suite}, \`${readable(files)}\`` : suite);
  const rows = TIERS.map((row) => `| ${what(row)} | ${row.tiers.join(", ")} | ${row.seconds} | ${row.because} |`);
  return ["| what | tiers | seconds | because |", "|---|---|---|---|", ...rows].join("\n");
}

/** A pattern of paths as a reader writes a path. */
const readable = ({ source }: RegExp): string => source.replace(/^\^/, "").replaceAll("\\", "").replace(/\.$/, "");
