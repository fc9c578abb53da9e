import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { collectMounts, collectPairs, parseCount } from "../options.ts";
import { RULES_HELP } from "../retention-rules.ts";
import * as actions from "../template/actions.ts";
import { type BuildOptions, build } from "../template/build.ts";
import * as images from "../template/images.ts";
import { type RebuildOptions, rebuild } from "../template/rebuild.ts";
import * as settings from "../template/settings.ts";

const BUILD_EXAMPLES = `
The steps are those of a Dockerfile: boxyard.Dockerfile or Dockerfile in the directory, which is also the build context: COPY
reads its files, .dockerignore excludes some. FROM takes boxyard/base for the template base, the name of another stage, or an image of a registry.
ENTRYPOINT and CMD become the program that runs in every sandbox from its start.

Examples:
  $ boxyard template build my-app
  $ boxyard template build my-app:v2 project/ --build-arg VERSION=2 --memory 2048
  $ boxyard template build web --start-cmd 'python3 -m http.server 8000' --ready-cmd 'curl -sf localhost:8000'`;

const PUSH_HELP = `
For a registry with a login: --username and --password-stdin; or --credentials with a file, '-' for standard input, that holds one of
  {"type": "registry", "username": …, "password": …}
  {"type": "aws", "awsAccessKeyId": …, "awsSecretAccessKey": …, "awsRegion": …}
  {"type": "gcp", "serviceAccountJson": …}
The server uses them for this push and does not store them.

Examples:
  $ boxyard template push my-app localhost:5000/team/my-app:v2
  $ boxyard template push my-app:v2 localhost:5000/team/my-app --username me --password-stdin < password`;

const IMPORT_HELP = `
An archive that \`template export\` has made gives that template, with its start command. An archive of another program gives a template of its image.
The files are uploaded to the server, which unpacks them as a build.

Examples:
  $ boxyard template export my-app my-app.tar
  $ boxyard template import my-app.tar my-app`;

const REBUILD_HELP = `
base is built from the Debian packages of the server's machine in their present versions, so a rebuild brings in updates; run it on that machine.
Templates that were built on the old base stay as they are until they are built again.

Examples:
  $ boxyard template rebuild code-interpreter
  $ boxyard template rebuild base`;

const collect = (text: string, before: string[] = []) => [...before, text];

/** The options of a command that makes a template: what it is called, what runs in its sandboxes, and how large they are. */
const outcome = (command: Command): Command =>
  command
    .option("--tag <tag>", "tag of this build, repeatable (default: default)", collect)
    .option("--start-cmd <command>", "program that runs in every sandbox from its start")
    .option("--ready-cmd <command>", "shell command that ends with 0 when the sandbox is ready")
    .option("--no-start-from-memory", "boot each sandbox and run the start command, instead of copying a sandbox in which it is ready")
    .option("--no-new-privileges", "neither sudo nor file capabilities work in its sandboxes")
    .option("--no-ptrace", "root in its sandboxes cannot inspect processes of other users")
    .option("--max-open-files <count>", "files that one process of its sandboxes may have open (default: the server's setting)", parseCount)
    .option("-v, --volume <NAME:PATH>", "volume that its sandboxes mount, repeatable; NAME:PATH:ro to read only", collectMounts)
    .option("--cpus <count>", "processors of its sandboxes", parseCount)
    .option("--memory <MiB>", "memory of its sandboxes", parseCount)
    .option("--disk <MiB>", "what each of its sandboxes may write in addition to the template's files (default: 10240)", parseCount);

export function configure(command: Command, context: CliContext): void {
  command.description("Build, list, show, tag, push, export, import and delete templates.");
  outcome(
    command
      .command("build <name> [directory]")
      .description("Build a template from a Dockerfile and print its id.")
      .option("-f, --file <path>", "the Dockerfile")
      .option("--target <stage>", "stage of the Dockerfile to build (default: the last one)")
      .option("--build-arg <KEY=VALUE>", "value for an ARG, repeatable", collectPairs)
      .option(
        "--secret <id=ID,src=FILE>",
        "secret for RUN --mount=type=secret, of a file, (env=NAME) a variable or (stored=NAME) a stored secret, repeatable",
        collect,
      ),
  )
    .option("--no-cache", "do every step again")
    .option("-d, --detach", "start the build and do not wait for it")
    .option("--json", "print it as JSON")
    .addHelpText("after", BUILD_EXAMPLES)
    .action((name: string, directory: string | undefined, options: BuildOptions) => build(name, directory ?? ".", options, context));

  command
    .command("rebuild <template>")
    .description(
      "Build a template that comes with Boxyard from its recipe again: base, code-interpreter or mcp-gateway. Its running sandboxes are not affected.",
    )
    .option("--no-cache", "do every step again")
    .option("--json", "print it as JSON")
    .addHelpText("after", REBUILD_HELP)
    .action((name: string, options: RebuildOptions) => rebuild(name, options, context));

  command
    .command("list")
    .alias("ls")
    .description("List templates.")
    .option("-a, --all", "also those whose first build failed")
    .option("-q, --quiet", "only ids")
    .option("--json", "print them as JSON")
    .action((options: { json?: boolean; all?: boolean; quiet?: boolean }) => actions.list(options, context));

  command
    .command("info <template>")
    .description("Show a template, by name or id.")
    .option("--json", "print it as JSON")
    .action((name: string, options: { json?: boolean }) => actions.info(name, options, context));

  configureTags(command, context);
  configureSettings(command, context);

  command
    .command("push <template> <reference>")
    .description("Push a template, or one of its tags, to a registry as an OCI image, and print its digest.")
    .option("--username <name>", "user of the registry")
    .option("--password-stdin", "read the user's password from standard input")
    .option("--credentials <file>", "file with the login of the registry")
    .option("--json", "print it as JSON")
    .addHelpText("after", PUSH_HELP)
    .action((name: string, reference: string, options: images.PushOptions) => images.push(name, reference, options, context));

  command
    .command("export <template> <file>")
    .description("Write a template, or one of its tags, as an OCI archive; '-' is standard output.")
    .action((name: string, file: string) => images.exportTo(name, file, context));

  outcome(command.command("import <file> <name>").description("Make a template of an OCI archive and print its id."))
    .option("-d, --detach", "start the build and do not wait for it")
    .option("--json", "print it as JSON")
    .addHelpText("after", IMPORT_HELP)
    .action((file: string, name: string, options: Omit<BuildOptions, "cache">) => images.importFrom(file, name, options, context));

  command
    .command("delete <template...>")
    .alias("rm")
    .description("Delete templates with all their builds, by name or id.")
    .option("-y, --yes", "do not ask")
    .action((names: string[], options: { yes?: boolean }) => actions.remove(names, options, context));
}

/** What builds are called, and who may start from them. */
function configureTags(command: Command, context: CliContext): void {
  command
    .command("tag <template> <tag...>")
    .description(
      "Make tags point to a build: that of a template (NAME), of one of its tags (NAME:TAG), or one by its id (NAME:BUILD, which `info` shows).",
    )
    .option("--remove", "remove the tags instead, as `untag` does")
    .addHelpText("after", "\nExamples:\n  $ boxyard template tag my-app:v2 stable\n  $ boxyard template tag my-app v1 --remove")
    .action((target: string, tags: string[], options: { remove?: boolean }) => actions.tag(target, tags, options, context));

  command
    .command("untag <template> <tag...>")
    .description(
      "Remove tags from a template. A build without a tag can still be started by its id (NAME:BUILD) while its files are kept, some weeks at most.",
    )
    .addHelpText("after", "\nExamples:\n  $ boxyard template untag my-app v1")
    .action((target: string, tags: string[]) => actions.tag(target, tags, { remove: true }, context));

  command
    .command("publish <template...>")
    .description("Let other teams start from templates, by name or id.")
    .action((names: string[]) => actions.publish(names, true, context));

  command
    .command("unpublish <template...>")
    .description("Keep templates to your own team again, by name or id.")
    .action((names: string[]) => actions.publish(names, false, context));
}

/** What its sandboxes may have, and what is kept of them. */
function configureSettings(command: Command, context: CliContext): void {
  command
    .command("limit <template> [limit...]")
    .description(
      "Set the most that a sandbox of a template may have, at its create and by a resize, NAME=NUMBER or NAME=default, and print all of it. Names: cpuCount, memoryMB, diskSizeMB.",
    )
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  $ boxyard template limit my-app cpuCount=2 memoryMB=4096\n  $ boxyard template limit my-app memoryMB=default",
    )
    .action((name: string, limits: string[], options: { json?: boolean }) => settings.limit(name, limits, options, context));

  command
    .command("retention <template> [rule...]")
    .description(
      `Replace the rules by which what was made of a template is deleted, KIND.NAME=NUMBER, and print them; without rules only print. They hold in place of the team's rules of the same kinds. ${RULES_HELP}`,
    )
    .option("--off", "take all rules of the template away: the team's hold")
    .addHelpText(
      "after",
      "\nExamples:\n  $ boxyard template retention my-app builds.maxCount=5 paused.maxAgeHours=48\n  $ boxyard template retention my-app --off",
    )
    .action((name: string, rules: string[], options: { off?: boolean }) => settings.retention(name, rules, options, context));
}
