import type { CallSite } from "./call-site.ts";
import { type Instruction, wrong } from "./dockerfile-lines.ts";
import { WordError, WordReader } from "./dockerfile-words.ts";
import { shellWord } from "./shell-word.ts";
import type { TemplateOrigin, TemplateStep } from "./steps.ts";

/** What ENTRYPOINT and CMD say. */
export type CommandForm = { readonly argv: readonly string[] } | { readonly line: string };

/** What holds for every stage of a file. */
export interface FileFacts {
  readonly context: string;
  readonly ignoreFile: string;
  /** Of the Dockerfile, for people. */
  readonly path: string | undefined;
  readonly escapeChar: string;
  /** Values that were given for ARG. */
  readonly args: Readonly<Record<string, string>>;
  /** Of the ARGs before the first FROM. */
  readonly globals: ReadonlyMap<string, string>;
  /** Called with each instruction that has no effect. */
  readonly onNote: (text: string) => void;
}

/** A stage of a Dockerfile as far as it has been read. */
export class DockerfileStage {
  readonly file: FileFacts;
  /** Of FROM. */
  readonly line: number;
  /** Name by which COPY --from and FROM refer to the stage; its number when it has none. */
  readonly name: string;
  readonly origin: TemplateOrigin | undefined;
  /** Throws the reason why the stage cannot be built; called only when the stage is needed. */
  refusal: (() => never) | undefined;
  readonly steps: TemplateStep[] = [];
  /** What COPY takes files out of: names of other stages, and images. */
  readonly copiesFrom = new Set<string>();
  readonly images = new Set<string>();
  /** ARG in scope: the value as the server is to read it, and as it is known here. */
  readonly args = new Map<string, { readonly text: string; readonly known: string | undefined }>();
  /** ENV whose value is known here. */
  readonly env = new Map<string, string>();
  /** ENV whose value only the server will know. */
  readonly unknown = new Set<string>();
  /** Shell of RUN, CMD and ENTRYPOINT in shell form; undefined: the default one. */
  shell: readonly string[] | undefined;
  entrypoint: CommandForm | undefined;
  cmd: CommandForm | undefined;
  /** Whether CMD is this stage's own. */
  ownCmd = false;
  commandLine: number | undefined;
  /** HEALTHCHECK. */
  health: CommandForm | undefined;
  healthLine: number | undefined;
  /** ONBUILD: what is done in the stages that begin with this one. */
  readonly triggers: Instruction[] = [];
  /** Triggers of the stage that this one begins with; undefined: it begins with something else. */
  readonly due: readonly Instruction[] | undefined;

  constructor(
    file: FileFacts,
    from: { line: number; name: string; origin?: TemplateOrigin | undefined; refusal?: (() => never) | undefined },
    parent?: DockerfileStage,
  ) {
    this.file = file;
    this.line = from.line;
    this.name = from.name;
    this.origin = parent?.origin ?? from.origin;
    this.refusal = parent?.refusal ?? from.refusal;
    this.due = parent?.triggers;
    if (!parent) {
      // A build begins as root, as in builders of images.
      this.add({ line: from.line }, "USER", ["root"]);
      this.add({ line: from.line }, "WORKDIR", ["/"]);
      return;
    }
    this.steps.push(...parent.steps);
    for (const name of parent.copiesFrom) this.copiesFrom.add(name);
    for (const image of parent.images) this.images.add(image);
    for (const [key, value] of parent.args) this.args.set(key, value);
    for (const [key, value] of parent.env) this.env.set(key, value);
    for (const key of parent.unknown) this.unknown.add(key);
    this.shell = parent.shell;
    this.entrypoint = parent.entrypoint;
    this.cmd = parent.cmd;
    this.commandLine = parent.commandLine;
    this.health = parent.health;
    this.healthLine = parent.healthLine;
  }

  add({ line }: { readonly line: number }, type: TemplateStep["type"], args: readonly string[], more: Partial<TemplateStep> = {}): void {
    this.steps.push({ type, args, force: false, ...more, at: this.at(line) });
  }

  at(line: number): CallSite {
    return { file: this.file.path, line };
  }

  has(type: TemplateStep["type"]): boolean {
    return this.steps.slice(2).some((step) => step.type === type);
  }

  /** Reads words with the variables that are set so far. Errors name the instruction's line. */
  reading<T>(instruction: Instruction, read: (words: WordReader) => T): T {
    const known = new Map<string, string>();
    const deferred = new Map<string, string>();
    for (const [name, value] of this.args) {
      if (this.unknown.has(name)) continue;
      if (value.known === undefined) deferred.set(name, value.text);
      else known.set(name, value.known);
    }
    for (const [name, value] of this.env) {
      known.set(name, value);
      deferred.delete(name);
    }
    try {
      return read(new WordReader({ known, deferred }, this.file.escapeChar));
    } catch (error) {
      if (error instanceof WordError) throw wrong(instruction, error.message);
      throw error;
    }
  }

  /** A command in shell form, as the one line that the server's shell gets. */
  shellLine(line: string): string {
    return this.shell ? [...this.shell, line].map(shellWord).join(" ") : line;
  }

  /** HEALTHCHECK, as one line for a shell. */
  healthCommand(): string | undefined {
    const { health } = this;
    if (!health) return undefined;
    return "line" in health ? this.shellLine(health.line) : health.argv.map(shellWord).join(" ") || undefined;
  }

  /** ENTRYPOINT and CMD together, as one line for a shell. */
  startCommand(): string | undefined {
    const { entrypoint, cmd } = this;
    if (entrypoint && "line" in entrypoint) return this.shellLine(entrypoint.line);
    if (!entrypoint || entrypoint.argv.length === 0) {
      if (!cmd) return undefined;
      return "line" in cmd ? this.shellLine(cmd.line) : cmd.argv.map(shellWord).join(" ") || undefined;
    }
    const rest = !cmd ? [] : "line" in cmd ? [...(this.shell ?? ["/bin/sh", "-c"]), cmd.line] : cmd.argv;
    return [...entrypoint.argv, ...rest].map(shellWord).join(" ");
  }
}
