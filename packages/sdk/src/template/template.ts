import { existsSync } from "node:fs";
import { join } from "node:path";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { InvalidArgumentError, NotFoundError } from "../errors.ts";
import { Paginator } from "../sandbox/paginator.ts";
import { asStage } from "./as-stage.ts";
import { beginBuild, followBuild } from "./build.ts";
import { callSite } from "./call-site.ts";
import { parseDockerfile } from "./dockerfile.ts";
import {
  type ExportedImage,
  type ExportOpts,
  exportTemplate,
  type PushedImage,
  type PushOpts,
  pushTemplate,
  type Sink,
} from "./image-out.ts";
import { aptInstall, copyArgs, listOf, npmInstall, pipInstall } from "./step-words.ts";
import type { RegistryAccess, TemplateParts, TemplateRestrictions, TemplateStep, VolumeMounts } from "./steps.ts";
import * as calls from "./template-api.ts";
import type { BuildStatus, TemplateInfo, TemplateSettings, TemplateTag } from "./template-info.ts";
import type { CopyOpts, DockerfileOpts, RunOpts, TemplateBuildOpts, TemplateOpts } from "./template-opts.ts";
import { withTriggers } from "./triggers.ts";

/**
 * A template, from which sandboxes start, as steps on a base. Every method returns a new value and does not change the old one.
 *
 * ```ts
 * const template = Template.fromBaseImage()
 *   .aptInstall("ffmpeg")
 *   .copy("app/", "/srv/app/")
 *   .setStartCmd("python3 /srv/app/server.py", waitForPort(8000));
 * await template.build("my-app", { onLog: ({ message }) => console.log(message) });
 * const sandbox = await Sandbox.create("my-app");
 * ```
 */
export class Template {
  private readonly parts: TemplateParts;
  private readonly context: string;

  private constructor(parts: TemplateParts, context: string) {
    this.parts = parts;
    this.context = context;
  }

  /** Begins with the template `base`, which every server has: Debian with Python, Node and git. */
  static fromBaseImage(opts: TemplateOpts = {}): Template {
    return Template.fromTemplate("base", opts);
  }

  /** Begins with another template: its files, variables, user, working directory, start and ready commands. */
  static fromTemplate(name: string, opts: TemplateOpts = {}): Template {
    return Template.from({ fromTemplate: name }, opts);
  }

  /** Begins with an image from a registry. */
  static fromImage(image: string, opts: TemplateOpts & { readonly registry?: RegistryAccess | undefined } = {}): Template {
    const origin = { fromImage: image, ...(opts.registry ? { fromImageRegistry: opts.registry } : {}) };
    return Template.from(origin, opts);
  }

  /**
   * Begins with an OCI archive, which is a file on this machine. An archive that `export` made also has the user, working directory, variables, start
   * and ready commands of its template.
   */
  static fromArchive(path: string, opts: TemplateOpts = {}): Template {
    return Template.from({ fromArchive: path }, opts);
  }

  /**
   * Makes a template from the text of a Dockerfile, with all stages that the target stage needs. `FROM boxyard/NAME` begins with a template; other
   * names are images. ENTRYPOINT and CMD become the start command.
   *
   * @throws InvalidArgumentError, with the line that is wrong or not supported.
   */
  static fromDockerfile(text: string, opts: DockerfileOpts = {}): Template {
    const { context = ".", args = {}, target, file, onNote } = opts;
    const own = file === undefined ? undefined : `${file}.dockerignore`;
    const ignoreFile = own !== undefined && existsSync(own) ? own : join(context, ".dockerignore");
    const input = { context, ignoreFile, args, target, file };
    const parts = parseDockerfile(text, { ...input, onNote });
    return new Template({ ...parts, dockerfile: { parts, again: (triggers) => parseDockerfile(text, { ...input, triggers }) } }, context);
  }

  private static from(origin: TemplateParts["origin"], { context = "." }: TemplateOpts): Template {
    return new Template({ origin, steps: [], force: false, at: callSite(import.meta.url) }, context);
  }

  /** Copies files or directories of the context. The content of a directory is copied into the destination. `*`, `?` and `**` match names. */
  copy(sources: string | readonly string[], destination: string, opts: CopyOpts = {}): Template {
    return listOf(sources).reduce<Template>((template, source) => {
      const step = template.newStep("COPY", copyArgs(source, destination, opts));
      return template.with({ ...step, copy: { context: this.context, source } });
    }, this);
  }

  /**
   * Copies files from another template: a template on the server, by its name, or a `Template` that is built for this purpose and not kept. `sources`
   * are paths in the other template; `*` and `?` match names.
   */
  copyFrom(from: Template | string, sources: string | readonly string[], destination: string, opts: CopyOpts = {}): Template {
    const { origin, stages } = typeof from === "string" ? { origin: { from }, stages: [] } : asStage(from.parts);
    const all = new Map([...(this.parts.stages ?? []), ...stages].map((stage) => [stage.name, stage]));
    return listOf(sources).reduce<Template>(
      (template, source) => template.with({ ...template.newStep("COPY", copyArgs(source, destination, opts)), ...origin }),
      this.change({ stages: [...all.values()] }),
    );
  }

  /** Runs a shell command (`bash -l -c`), or several until one fails. `opts` apply only to this step. */
  run(command: string | readonly string[], opts: RunOpts = {}): Template {
    const line = typeof command === "string" ? command : command.join(" && ");
    const step = this.newStep("RUN", opts.user === undefined ? [line] : [line, opts.user]);
    return this.with(opts.secrets === undefined ? step : { ...step, secrets: opts.secrets });
  }

  /** Sets environment variables, for later steps and for sandboxes. `$NAME` in a value is replaced by that variable's value at this step. */
  env(variables: Readonly<Record<string, string>>): Template {
    const flat = Object.entries(variables).flat();
    return flat.length === 0 ? this : this.with(this.newStep("ENV", flat));
  }

  /** Sets the working directory of later steps and of sandboxes. A missing directory is created. */
  workdir(path: string): Template {
    return this.with(this.newStep("WORKDIR", [path]));
  }

  /** Sets the user of later steps and of sandboxes. A missing user is created. */
  user(name: string): Template {
    return this.with(this.newStep("USER", [name]));
  }

  /** Installs Debian packages. */
  aptInstall(packages: string | readonly string[]): Template {
    return this.run(aptInstall(packages), { user: "root" });
  }

  /** Installs Python packages for all users; without names, the project in the working directory. */
  pipInstall(packages: string | readonly string[] = "."): Template {
    return this.run(pipInstall(packages), { user: "root" });
  }

  /** Installs Node packages; without names, those of the project in the working directory. With `global`, all users can run their commands. */
  npmInstall(packages: string | readonly string[] = [], opts: { readonly global?: boolean | undefined } = {}): Template {
    return this.run(npmInstall(packages, opts.global), opts.global ? { user: "root" } : {});
  }

  /** Later steps do not use the cache. */
  skipCache(): Template {
    return this.change({ force: true });
  }

  /** Sets the start command, which runs in every sandbox from its start. The build ends when `ready` exits with 0; default: after 20 s. */
  setStartCmd(command: string, ready?: string): Template {
    return this.change({ startCmd: command, ...(ready === undefined ? {} : { readyCmd: ready }), startAt: callSite(import.meta.url) });
  }

  /** Sets the ready command: a shell command that exits with 0 when the sandbox is ready; see `waitForPort` and similar functions. */
  setReadyCmd(command: string): Template {
    return this.change({ readyCmd: command, startAt: callSite(import.meta.url) });
  }

  /** Restricts the privileges of programs in the template's sandboxes, so that fewer ways to become root remain. Further calls add restrictions. */
  restrict(restrictions: TemplateRestrictions): Template {
    return this.change({ restrictions: { ...this.parts.restrictions, ...restrictions } });
  }

  /** Mounts volumes in each sandbox of the template, by path. Its build, with the start command, runs without them ({@link VolumeMounts}). */
  mountVolumes(volumes: VolumeMounts): Template {
    return this.change({ volumes: { ...this.parts.volumes, ...volumes } });
  }

  /**
   * True, the default: sandboxes start from the saved memory of a sandbox in which the start command was ready, if the server supports it. False: each
   * sandbox runs the start command. Use false for programs that must not begin as copies of one another: random number generators that they
   * have seeded themselves give the same numbers in each copy.
   */
  startFromMemory(enabled: boolean): Template {
    return this.change({ startFromMemory: enabled });
  }

  /**
   * Builds the template under a name (`name` or `name:tag`) and waits for the end. Steps that an earlier build has run come from the cache.
   *
   * @throws BuildError if a step fails.
   */
  async build(name: string, opts: TemplateBuildOpts = {}): Promise<calls.NewBuild> {
    const api = new ApiClient(resolveConfig(opts));
    const parts = await withTriggers(api, this.parts, opts);
    const build = await beginBuild(api, parts, name, opts);
    await followBuild(api, build, parts, opts);
    return build;
  }

  /** Uploads the files and starts a build; `Template.getBuildStatus` shows its state. */
  async buildInBackground(name: string, opts: TemplateBuildOpts = {}): Promise<calls.NewBuild> {
    const api = new ApiClient(resolveConfig(opts));
    return beginBuild(api, await withTriggers(api, this.parts, opts), name, opts);
  }

  /** The status of a build, with the log from entry `logsOffset` on (default 0; at most 100 entries). */
  static getBuildStatus(
    build: calls.BuildRef,
    opts: ConnectionOptions & { readonly logsOffset?: number | undefined } = {},
  ): Promise<BuildStatus> {
    return calls.buildStatus(new ApiClient(resolveConfig(opts)), build, opts.logsOffset ?? 0, {});
  }

  /** Cancels a running build. */
  static cancelBuild(build: calls.BuildRef, opts: ConnectionOptions = {}): Promise<void> {
    return calls.cancelBuild(new ApiClient(resolveConfig(opts)), build, {});
  }

  /** True if the name is in use, by your team or another team. */
  static async exists(name: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return (await calls.resolveName(new ApiClient(resolveConfig(opts)), name, {})) !== undefined;
  }

  /** Lists all templates of this API key's team: `for await (const info of Template.list())`. */
  static list(
    opts: ConnectionOptions & { readonly limit?: number | undefined; readonly nextToken?: string | undefined } = {},
  ): Paginator<TemplateInfo> {
    const api = new ApiClient(resolveConfig(opts));
    return new Paginator((nextToken) => calls.listTemplates(api, opts.limit, nextToken, {}), opts.nextToken);
  }

  /** Gets information about a template, by name or id. */
  static async getInfo(name: string, opts: ConnectionOptions = {}): Promise<TemplateInfo> {
    const api = new ApiClient(resolveConfig(opts));
    return calls.getTemplate(api, await calls.idOf(api, name), {});
  }

  /** Deletes a template with all its builds, by name or id. False if there is no such template. Refused while sandboxes use it. */
  static async delete(name: string, opts: ConnectionOptions = {}): Promise<boolean> {
    const api = new ApiClient(resolveConfig(opts));
    try {
      return await calls.deleteTemplate(api, await calls.idOf(api, name), {});
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Sets whether other teams may use a template, by name or id. */
  static setPublic(name: string, isPublic: boolean, opts: ConnectionOptions = {}): Promise<void> {
    return Template.change(name, { ...opts, isPublic });
  }

  /** Changes the settings of a template, by name or id; for its team alone. */
  static async change(name: string, opts: TemplateSettings & ConnectionOptions): Promise<void> {
    const api = new ApiClient(resolveConfig(opts));
    await calls.changeTemplate(api, await calls.idOf(api, name), opts, {});
  }

  /** The tags of a template, by name or id. */
  static async getTags(name: string, opts: ConnectionOptions = {}): Promise<TemplateTag[]> {
    const api = new ApiClient(resolveConfig(opts));
    return calls.listTags(api, await calls.idOf(api, name), {});
  }

  /** Makes tags point to the build that `target` (`name` or `name:tag`) points to. */
  static assignTags(target: string, tags: string | readonly string[], opts: ConnectionOptions = {}): Promise<void> {
    return calls.assignTags(new ApiClient(resolveConfig(opts)), target, typeof tags === "string" ? [tags] : tags, {});
  }

  /** Removes tags. Sandboxes can still start from a build by its id (`name:<buildID>`) until its files are removed, after some weeks at most. */
  static removeTags(name: string, tags: string | readonly string[], opts: ConnectionOptions = {}): Promise<void> {
    return calls.removeTags(new ApiClient(resolveConfig(opts)), name, typeof tags === "string" ? [tags] : tags, {});
  }

  /** Pushes a template (`name` or `name:tag`) to a registry as an OCI image, which other programs can also run. */
  static push(name: string, reference: string, opts: PushOpts & ConnectionOptions = {}): Promise<PushedImage> {
    return pushTemplate(new ApiClient(resolveConfig(opts)), name, reference, opts);
  }

  /** Writes a template (`name` or `name:tag`) as an OCI archive to a file, or passes it in pieces to a function. */
  static export(name: string, to: string | Sink, opts: ExportOpts & ConnectionOptions = {}): Promise<ExportedImage> {
    return exportTemplate(new ApiClient(resolveConfig(opts)), name, to, opts);
  }

  private newStep(type: TemplateStep["type"], args: readonly string[]): TemplateStep {
    if (args.some((arg) => arg.includes("\0"))) {
      throw new InvalidArgumentError(`${type}: no text of a step may hold a NUL`, { code: "invalid_argument" });
    }
    return { type, args, force: this.parts.force, at: callSite(import.meta.url) };
  }

  private with(step: TemplateStep): Template {
    return this.change({ steps: [...this.parts.steps, step] });
  }

  private change(change: Partial<TemplateParts>): Template {
    return new Template({ ...this.parts, ...change }, this.context);
  }
}
