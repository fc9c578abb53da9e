import { type ConnectionOptions } from "../config.ts";
import { Paginator } from "../paginator.ts";
import { type BuildOpts } from "./build.ts";
import { type ExportedImage, type ExportOpts, type PushedImage, type PushOpts, type Sink } from "./image-out.ts";
import { type RegistryAccess, type SecretMount } from "./steps.ts";
import * as calls from "./template-api.ts";
import type { BuildStatus, TemplateInfo, TemplateTag } from "./template-info.ts";
export interface TemplateOpts {
    /** Folder that the paths of `copy` begin at; its `.dockerignore` counts. Default: the working directory of this program. */
    readonly context?: string | undefined;
}
export interface DockerfileOpts extends TemplateOpts {
    /** Values for `ARG`. */
    readonly args?: Readonly<Record<string, string>> | undefined;
    /** Stage to build, by name or number. Default: the last one. */
    readonly target?: string | undefined;
    /** Path of the Dockerfile: errors name it, and `PATH.dockerignore` counts in place of `.dockerignore`. */
    readonly file?: string | undefined;
    /** Told of each instruction that has no effect on a template. */
    readonly onNote?: ((text: string) => void) | undefined;
}
export interface CopyOpts {
    /** Owner, or `owner:group`. Default: the user of the moment. */
    readonly user?: string | undefined;
    /** Permission bits for all that is copied, e.g. `0o755`. Default: as the files have. */
    readonly mode?: number | undefined;
}
export interface RunOpts {
    /** Default: the user of the moment. */
    readonly user?: string | undefined;
    /** Secrets of the build (`TemplateBuildOpts.secrets`) that the command needs; nothing of them stays. */
    readonly secrets?: readonly SecretMount[] | undefined;
}
export interface TemplateBuildOpts extends BuildOpts, ConnectionOptions {
}
/**
 * What a sandbox starts from, as steps on a base. Every method gives a new value and leaves the old one as it is.
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
export declare class Template {
    private readonly parts;
    private readonly context;
    private constructor();
    /** Begins with the template `base` that every server has: Debian with Python, Node and git. */
    static fromBaseImage(opts?: TemplateOpts): Template;
    /** Begins with another template: its files, variables, user, working directory, start and ready commands. */
    static fromTemplate(name: string, opts?: TemplateOpts): Template;
    /** Begins with an image of a registry. */
    static fromImage(image: string, opts?: TemplateOpts & {
        readonly registry?: RegistryAccess | undefined;
    }): Template;
    /**
     * Begins with an OCI archive, a file on this machine: of another program, or one that `export` has made; then it is that template with its
     * user, working directory, variables, start and ready commands.
     */
    static fromArchive(path: string, opts?: TemplateOpts): Template;
    /**
     * Takes over the text of a Dockerfile, with all the stages that the wanted one needs. `FROM boxyard/NAME` begins with a template, other names
     * are images. ENTRYPOINT and CMD become the start command.
     *
     * @throws InvalidArgumentError naming the line of what cannot be taken over.
     */
    static fromDockerfile(text: string, opts?: DockerfileOpts): Template;
    private static from;
    /** Copies files or folders of the context; of a folder its content goes into the destination. `*`, `?` and `**` match names. */
    copy(sources: string | readonly string[], destination: string, opts?: CopyOpts): Template;
    /**
     * Copies files out of another template: one on the server, by its name, or one that is built for this purpose and kept nowhere. Paths are those
     * inside; `*` and `?` match.
     */
    copyFrom(from: Template | string, sources: string | readonly string[], destination: string, opts?: CopyOpts): Template;
    /** Runs a shell command (`bash -l -c`), or several until one fails. What `opts` says counts for this step only. */
    run(command: string | readonly string[], opts?: RunOpts): Template;
    /** Sets environment variables, for later steps and for sandboxes. `$NAME` in a value is what it is at that moment. */
    env(variables: Readonly<Record<string, string>>): Template;
    /** Working directory of later steps and of sandboxes; made if need be. */
    workdir(path: string): Template;
    /** User of later steps and of sandboxes; made if need be. */
    user(name: string): Template;
    /** Installs Debian packages. */
    aptInstall(packages: string | readonly string[]): Template;
    /** Installs Python packages for everybody; without names, those of the project in the working directory. */
    pipInstall(packages?: string | readonly string[]): Template;
    /** Installs Node packages, with `global` as commands for everybody; without names, those of the project in the working directory. */
    npmInstall(packages?: string | readonly string[], opts?: {
        readonly global?: boolean | undefined;
    }): Template;
    /** Steps that follow are done anew, also when the cache has their like. */
    skipCache(): Template;
    /** A program that runs in every sandbox from its first moment. The build ends when `ready` does with 0; default: after 20 s. */
    setStartCmd(command: string, ready?: string): Template;
    /** A shell command that ends with 0 when the sandbox is ready; see `waitForPort` and its like. */
    setReadyCmd(command: string): Template;
    /**
     * Builds the template under a name (`name` or `name:tag`) and waits for it. Equal steps of earlier builds are taken from the cache.
     *
     * @throws BuildError when a step fails.
     */
    build(name: string, opts?: TemplateBuildOpts): Promise<calls.NewBuild>;
    /** Uploads the files and starts a build; `Template.getBuildStatus` tells how it does. */
    buildInBackground(name: string, opts?: TemplateBuildOpts): Promise<calls.NewBuild>;
    /** How a build does, with the log from entry `logsOffset` on (default 0; at most 100 entries). */
    static getBuildStatus(build: calls.BuildRef, opts?: ConnectionOptions & {
        readonly logsOffset?: number | undefined;
    }): Promise<BuildStatus>;
    /** Ends a build that runs. */
    static cancelBuild(build: calls.BuildRef, opts?: ConnectionOptions): Promise<void>;
    /** True when the name is taken, by you or by others. */
    static exists(name: string, opts?: ConnectionOptions): Promise<boolean>;
    /** All templates of this API key's team: `for await (const info of Template.list())`. */
    static list(opts?: ConnectionOptions & {
        readonly limit?: number | undefined;
        readonly nextToken?: string | undefined;
    }): Paginator<TemplateInfo>;
    /** Looks at a template, by name or id. */
    static getInfo(name: string, opts?: ConnectionOptions): Promise<TemplateInfo>;
    /** Deletes a template with all its builds, by name or id. False when there was none. Refused while sandboxes use it. */
    static delete(name: string, opts?: ConnectionOptions): Promise<boolean>;
    /** Lets other teams start from a template, or no longer; by name or id. */
    static setPublic(name: string, isPublic: boolean, opts?: ConnectionOptions): Promise<void>;
    /** The tags of a template, by name or id. */
    static getTags(name: string, opts?: ConnectionOptions): Promise<TemplateTag[]>;
    /** Makes tags point to the build that `target` (`name` or `name:tag`) points to. */
    static assignTags(target: string, tags: string | readonly string[], opts?: ConnectionOptions): Promise<void>;
    /** Takes tags away; their builds stay. */
    static removeTags(name: string, tags: string | readonly string[], opts?: ConnectionOptions): Promise<void>;
    /** Pushes a template (`name` or `name:tag`) to a registry as an OCI image, which other programs can run too. */
    static push(name: string, reference: string, opts?: PushOpts & ConnectionOptions): Promise<PushedImage>;
    /** Writes a template (`name` or `name:tag`) as an OCI archive to a file, or piece by piece to a function. */
    static export(name: string, to: string | Sink, opts?: ExportOpts & ConnectionOptions): Promise<ExportedImage>;
    private newStep;
    private with;
    private change;
}
