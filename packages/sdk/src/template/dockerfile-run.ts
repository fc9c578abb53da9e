import { execForm, flagsOf, type Instruction, shownText, unsupported, wrong } from "./dockerfile-lines.ts";
import { mountsOf } from "./dockerfile-mounts.ts";
import type { DockerfileStage } from "./dockerfile-stage.ts";
import { literal } from "./dockerfile-words.ts";
import { shellWord } from "./shell-word.ts";

/** May be given without being declared. */
const PREDEFINED = ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy"].flatMap((name) => [name, name.toUpperCase()]);

export function run(stage: DockerfileStage, instruction: Instruction, stages: ReadonlyMap<string, DockerfileStage>): void {
  const { flags, mounts, rest } = flagsOf(instruction);
  const refused = [...flags].find(([flag, value]) => flag !== "mount" && (flag !== "network" || value !== "default"));
  if (refused) throw unsupported(instruction, `RUN --${refused[0]}=${refused[1]}`);
  const { secrets, mounts: files, bound } = mountsOf(stage, instruction, mounts, stages);
  const env = { ...givenProxies(stage.file.args), ...Object.fromEntries([...stage.args].map(([key, { text }]) => [key, text])) };
  const command = commandLine(stage, instruction, rest);
  const text = command === instruction.rest ? {} : { text: shownText(instruction) };
  stage.add(instruction, "RUN", [command], {
    ...text,
    ...(Object.keys(env).length > 0 ? { env } : {}),
    ...(secrets.length > 0 ? { secrets } : {}),
    ...(files.length > 0 ? { mounts: files } : {}),
    ...(bound.size > 0 ? { bound } : {}),
  });
}

function commandLine(stage: DockerfileStage, instruction: Instruction, rest: string): string {
  const { heredocs } = instruction;
  const [heredoc] = heredocs;
  const argv = execForm(rest);
  if (argv) return argv.map(shellWord).join(" ");
  // A script as a whole, which may name its own interpreter, or input of a command: the shell reads it from the same words.
  if (heredoc && heredocs.length === 1 && /^<<-?["']?[^\s"']+["']?$/.test(rest)) {
    return heredoc.text.startsWith("#!") ? ownInterpreter(heredoc.text) : stage.shellLine(heredoc.text);
  }
  if (heredoc) return stage.shellLine([rest, ...heredocs.map(({ text, word }) => `${text}${word}`)].join("\n"));
  if (rest === "") throw wrong(instruction, "RUN needs a command");
  return stage.shellLine(rest);
}

/** Runs a script as a file, and leaves none behind. */
function ownInterpreter(script: string): string {
  return `f=$(mktemp) && printf %s ${shellWord(script)} > "$f" && chmod 755 "$f" && { "$f"; s=$?; rm -f "$f"; exit $s; }`;
}

function givenProxies(args: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(PREDEFINED.flatMap((name) => (args[name] === undefined ? [] : [[name, literal(args[name] ?? "")]])));
}
