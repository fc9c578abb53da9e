import type { Argument, Command, Option } from "commander";

/** A word that may stand where the cursor is. */
export interface Candidate {
  readonly word: string;
  readonly summary: string;
}

/** Things that a server has names or ids for. */
export type Kind = "sandbox" | "template" | "snapshot" | "volume" | "key" | "team" | "secret" | "webhook";

export type Lookup = (kind: Kind) => Promise<readonly Candidate[]>;

export interface Completion {
  readonly candidates: readonly Candidate[];
  /** A local file may stand there too. */
  readonly files: boolean;
}

const NOTHING: Completion = { candidates: [], files: false };
const FILES: Completion = { candidates: [], files: true };

/** Arguments and values of options are recognised by the names that help shows for them. */
const KINDS: Readonly<Record<string, Kind>> = {
  ...{
    sandbox: "sandbox",
    template: "template",
    snapshot: "snapshot",
    volume: "volume",
    key: "key",
    team: "team",
    secret: "secret",
    webhook: "webhook",
  },
};
/** Either a local path or SANDBOX:PATH; of `volume cp`, VOLUME:PATH. */
const PLACES: readonly string[] = ["source", "target"];
/** Values that only the user can know. */
const FREE: readonly string[] = [
  "name",
  "seconds",
  "KEY=VALUE",
  "count",
  "port",
  "address",
  "text",
  "tag",
  "pid",
  "MiB",
  "domain",
  "scope",
  "VARIABLE=SECRET",
  "event",
  "delivery",
  "slug",
  "limit",
  "NAME:PATH",
];

/** What may stand in place of the last word of `words`, which are what follows the program's name; the last may be empty. */
export async function complete(program: Command, words: readonly string[], look: Lookup): Promise<Completion> {
  const typed = joinAtColons(words);
  const current = typed.at(-1) ?? "";
  const place = findPlace(program, typed.slice(0, -1));
  const found = await at(place, current, look);
  return { ...found, candidates: found.candidates.filter(({ word }) => word.startsWith(current)) };
}

interface Place {
  readonly command: Command;
  /** Arguments before the current one. */
  readonly given: number;
  /** The option whose value stands here. */
  readonly option?: Option;
  /** After `--`, or in the words of a remote command. */
  readonly literal: boolean;
}

/** Reads the words before the current one as the parser will. */
function findPlace(program: Command, before: readonly string[]): Place {
  let command = program;
  let given = 0;
  let literal = false;
  let option: Option | undefined;
  for (const word of before) {
    if (option && !(option.optional && word.startsWith("-"))) {
      option = undefined;
      continue;
    }
    option = undefined;
    if (!literal && word === "--") literal = true;
    else if (!literal && word.startsWith("-")) option = takesValue(command, word);
    else {
      const sub = given === 0 && !literal ? subcommand(command, word) : undefined;
      if (sub) command = sub;
      else {
        given++;
        literal ||= command.registeredArguments[given - 1]?.name() === "command";
      }
    }
  }
  return { command, given, literal, ...(option ? { option } : {}) };
}

async function at({ command, given, option, literal }: Place, current: string, look: Lookup): Promise<Completion> {
  if (option && !(option.optional && current.startsWith("-"))) return values(valueName(option), option.argChoices, look);
  if (!literal && current.startsWith("-")) return { candidates: optionsOf(command), files: false };
  const visible = command.commands.filter((sub) => !sub.name().startsWith("_"));
  if (visible.length > 0 && given === 0) {
    return { candidates: visible.map((sub) => ({ word: sub.name(), summary: sub.summary() || sub.description() })), files: false };
  }
  const argument = argumentAt(command, given);
  if (!argument) return NOTHING;
  if (PLACES.includes(argument.name())) return place(current, look, command.parent?.name() === "volume" ? "volume" : "sandbox");
  return values(argument.name(), argument.argChoices, look);
}

async function values(name: string, choices: readonly string[] | undefined, look: Lookup): Promise<Completion> {
  if (choices) return { candidates: choices.map((word) => ({ word, summary: "" })), files: false };
  const kind = KINDS[name];
  if (kind) return { candidates: await look(kind), files: false };
  return FREE.includes(name) ? NOTHING : FILES;
}

async function place(current: string, look: Lookup, kind: Kind): Promise<Completion> {
  if (current.includes(":")) return NOTHING;
  const found = await look(kind);
  return { candidates: found.map(({ word, summary }) => ({ word: `${word}:`, summary })), files: true };
}

function argumentAt(command: Command, index: number): Argument | undefined {
  const all = command.registeredArguments;
  return all[index] ?? (all.at(-1)?.variadic ? all.at(-1) : undefined);
}

function optionsOf(command: Command): Candidate[] {
  const shown = command.options.filter((option) => !option.hidden && option.long);
  return [
    ...shown.map(({ long, description }) => ({ word: long as string, summary: description })),
    { word: "--help", summary: "show help" },
  ];
}

function takesValue(command: Command, word: string): Option | undefined {
  if (word.includes("=")) return undefined;
  const option = command.options.find(({ short, long }) => word === short || word === long);
  return option && (option.required || option.optional) ? option : undefined;
}

const subcommand = (command: Command, word: string) => command.commands.find((sub) => sub.name() === word || sub.aliases().includes(word));

const valueName = ({ flags }: Option) => /[<[]([^>\].]+)/.exec(flags)?.[1] ?? "";

/** bash splits `a:b` into three words. */
function joinAtColons(words: readonly string[]): string[] {
  const joined: string[] = [];
  let open = false;
  for (const word of words) {
    if (joined.length > 0 && (open || word === ":")) joined[joined.length - 1] += word;
    else joined.push(word);
    open = word === ":";
  }
  return joined;
}
