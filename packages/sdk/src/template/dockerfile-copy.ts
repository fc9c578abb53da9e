import { posix } from "node:path";
import { execForm, flagsOf, type Heredoc, type Instruction, shownText, unsupported, wrong } from "./dockerfile-lines.ts";
import type { DockerfileStage } from "./dockerfile-stage.ts";
import { splitWords } from "./dockerfile-words.ts";

/** Names that begin so are templates of the server, not images of a registry. */
export const TEMPLATES = "boxyard/";

const FLAGS: Readonly<Record<string, readonly string[]>> = {
  COPY: ["chown", "chmod", "from", "link"],
  ADD: ["chown", "chmod", "link", "checksum"],
};
const URLS = /^(https?|ftp|ssh|git):\/\/|^git@/;
/** A URL of a file; one that ends in `.git` is a repository. */
const FILE_URLS = /^https?:\/\/(?!.*\.git(#|$))/;
const CHECKSUM = /^sha256:([0-9a-f]{64})$/;

/** COPY and ADD. `stages`: those before this one, by name and number. */
export function copyOrAdd(stage: DockerfileStage, instruction: Instruction, stages: ReadonlyMap<string, DockerfileStage>): void {
  const { flags, rest } = flagsOf(instruction);
  const unknown = [...flags.keys()].find((flag) => !FLAGS[instruction.name]?.includes(flag));
  if (unknown) throw unsupported(instruction, `${instruction.name} --${unknown}`);
  const { escapeChar } = stage.file;
  const words = execForm(rest) ?? splitWords(rest, escapeChar);
  const raw = words.pop();
  if (raw === undefined || words.length === 0) throw wrong(instruction, `${instruction.name} needs a source and a destination`);
  const { destination, chown, chmod, from } = stage.reading(instruction, (reader) => ({
    destination: reader.forServer(raw),
    chown: reader.forServer(flags.get("chown") ?? ""),
    chmod: reader.here(flags.get("chmod") ?? ""),
    from: flags.has("from") ? reader.here(flags.get("from") ?? "") : undefined,
  }));
  if (chmod !== "" && !/^[0-7]{1,4}$/.test(chmod))
    throw unsupported(instruction, `--chmod=${chmod}; write the mode in octal digits, such as 755`);
  const target: Target = { destination, chown, chmod };
  const texts = words.flatMap((word) => instruction.heredocs.find((heredoc) => isStartOf(word, heredoc)) ?? []);
  const sources = stage.reading(instruction, (reader) => words.filter((word) => !/^<</.test(word)).map((word) => reader.here(word)));
  const many = texts.length + sources.length > 1;
  if (many && !destination.endsWith("/"))
    throw wrong(instruction, `with several sources the destination must end with '/', not be ${destination}`);
  const urls = sources.filter((source) => URLS.test(source));
  const odd = urls.find((url) => instruction.name !== "ADD" || !FILE_URLS.test(url));
  if (odd !== undefined) throw unsupported(instruction, `${instruction.name} of ${odd}; use RUN with curl or git`);
  const checksum = checksumOf(stage, instruction, flags.get("checksum"), sources.length, urls.length);
  if (from !== undefined && texts.length > 0) throw wrong(instruction, "a here-document cannot come from another stage");
  const files = sources.filter((source) => !URLS.test(source));
  if (files.length > 0) addSources(stage, instruction, files, target, from, stages);
  if (urls.length > 0) {
    const args = [urls.join(" "), destination, chown, chmod];
    stage.add(instruction, "ADD", args, { text: shownText(instruction), copy: { urls, sha256: checksum } });
  }
  for (const text of texts) addText(stage, instruction, text, target);
}

/** The value of `--checksum=sha256:…`, which is for one URL alone. */
function checksumOf(
  stage: DockerfileStage,
  instruction: Instruction,
  raw: string | undefined,
  count: number,
  urls: number,
): string | undefined {
  if (raw === undefined) return undefined;
  if (count !== 1 || urls !== 1) throw wrong(instruction, "--checksum is for one URL alone");
  const [, sha256] = CHECKSUM.exec(stage.reading(instruction, (reader) => reader.here(raw))) ?? [];
  if (sha256 === undefined) throw wrong(instruction, "--checksum must be sha256: and 64 hex digits");
  return sha256;
}

interface Target {
  readonly destination: string;
  readonly chown: string;
  readonly chmod: string;
}

const isStartOf = (word: string, heredoc: Heredoc) =>
  word.replace(/^<<-?/, "").replace(/^(["'])(.*)\1$/, "$2") === heredoc.word && word.startsWith("<<");

function addSources(
  stage: DockerfileStage,
  instruction: Instruction,
  sources: readonly string[],
  { destination, chown, chmod }: Target,
  from: string | undefined,
  stages: ReadonlyMap<string, DockerfileStage>,
): void {
  const args = [sources.join(" "), destination, chown, chmod];
  const text = shownText(instruction);
  if (from === undefined) {
    const { context, ignoreFile } = stage.file;
    const copy = { context, sources, isAdd: instruction.name === "ADD", ignoreFile };
    stage.add(instruction, instruction.name === "ADD" ? "ADD" : "COPY", args, { text, copy });
    return;
  }
  const patterns = sources.map((path) => ({ path: posix.normalize(`/${path}`) }));
  const origin = originOf(stage, instruction, from, stages);
  stage.add(instruction, "COPY", args, { text, sources: patterns, ...origin });
}

/** What `--from` means: a stage before this one by name or number, a template, or an image. */
function originOf(stage: DockerfileStage, instruction: Instruction, from: string, stages: ReadonlyMap<string, DockerfileStage>) {
  if (from === "") throw wrong(instruction, "--from needs a stage or an image");
  if (from.startsWith(TEMPLATES) && !stages.has(from.toLowerCase())) return { from: from.slice(TEMPLATES.length) };
  return { fromStage: stageOf(stage, instruction, from, stages) };
}

/** The name of a stage that is built, or of one that stands for an image or a template. */
export function stageOf(
  stage: DockerfileStage,
  instruction: Instruction,
  from: string,
  stages: ReadonlyMap<string, DockerfileStage>,
): string {
  const found = stages.get(from.toLowerCase());
  if (found) {
    stage.copiesFrom.add(found.name);
    return found.name;
  }
  if (/^\d+$/.test(from)) throw wrong(instruction, `there is no stage ${from} before this one`);
  if (from.toLowerCase() === stage.name) throw wrong(instruction, "a stage cannot copy from itself");
  stage.images.add(from);
  return from;
}

/** A file whose text is a here-document of the Dockerfile. */
function addText(stage: DockerfileStage, instruction: Instruction, heredoc: Heredoc, { destination, chown, chmod }: Target): void {
  const text = heredoc.isExpanded ? stage.reading(instruction, (reader) => reader.inText(heredoc.text)) : heredoc.text;
  const args = [heredoc.word, destination, chown, chmod];
  stage.add(instruction, "COPY", args, { text: shownText(instruction), copy: { name: heredoc.word, text } });
}
