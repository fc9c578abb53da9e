import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { parseCount } from "../options.ts";
import * as actions from "../volume/actions.ts";
import * as archive from "../volume/archive.ts";
import { copy } from "../volume/copy.ts";

const CREATE_HELP = `
Sandboxes mount a volume with --volume NAME:PATH, or NAME:PATH:ro to read only.

Examples:
  $ boxyard volume create results --size 1024
  $ boxyard run -v results:/data -- sh -c 'date >> /data/log'`;

const CP_HELP = `
A place in a volume is VOLUME:PATH, from the root of the volume. '-' as source is standard input, as target standard output. This copies one file;
for whole directories use import and export, or a sandbox with the volume.

Examples:
  $ boxyard volume cp main.py results:/main.py
  $ boxyard volume cp results:/main.py -`;

const ARCHIVE_HELP = `
The archive is a tar. '-' as FILE is standard output, or standard input. An import makes a whole volume, or none; gzip and zstd are recognised.

Examples:
  $ boxyard volume export results results.tar
  $ boxyard volume import results.tar restored --size 2048`;

const SIZE = "most MiB that its files may take";

export function configure(command: Command, context: CliContext): void {
  command.description(
    "Create, list and delete volumes: directories that outlive sandboxes, and that many of them can have at the same time.",
  );

  command
    .command("create <name>")
    .description("Create an empty volume and print its id.")
    .option("--size <MiB>", SIZE, parseCount)
    .addHelpText("after", CREATE_HELP)
    .action((name: string, options: actions.SizeOptions) => actions.create(name, options, context));

  command
    .command("list")
    .alias("ls")
    .description("List volumes, the oldest first.")
    .option("--json", "print them as JSON")
    .action((options: actions.JsonOptions) => actions.list(options, context));

  command
    .command("info <volume>")
    .description("Show a volume, by its name or id.")
    .option("--json", "print it as JSON")
    .action((volume: string, options: actions.JsonOptions) => actions.info(volume, options, context));

  command
    .command("delete <volume...>")
    .alias("rm")
    .description("Delete volumes with their files. One that a sandbox has, also a paused one, is refused.")
    .action((volumes: string[]) => actions.remove(volumes, context));

  command
    .command("clone <volume> <name>")
    .description("Create another volume that begins with what this one holds. Nothing is copied: both share what neither changes.")
    .option("--size <MiB>", `${SIZE} (default: as the source)`, parseCount)
    .addHelpText("after", "\nExamples:\n  $ boxyard volume clone results before-the-test")
    .action((volume: string, name: string, options: actions.SizeOptions) => actions.clone(volume, name, options, context));

  command
    .command("resize <volume>")
    .argument("<MiB>", SIZE, parseCount)
    .description("Change the size of a volume, up or down; not below what it holds.")
    .addHelpText("after", "\nExamples:\n  $ boxyard volume resize results 2048")
    .action((volume: string, sizeMB: number) => actions.resize(volume, sizeMB, context));

  configureFiles(command, context);
}

function configureFiles(command: Command, context: CliContext): void {
  command
    .command("files <volume> [path]")
    .description("List the files of a volume.")
    .option("--depth <count>", "how many levels", parseCount, 1)
    .option("--json", "print them as JSON")
    .action((volume: string, path: string | undefined, options: actions.FilesOptions) => actions.files(volume, path, options, context));

  command
    .command("cp <source> <target>")
    .description("Copy a file to or from a volume.")
    .addHelpText("after", CP_HELP)
    .action((source: string, target: string) => copy(source, target, context));

  command
    .command("export <volume> <file>")
    .description("Write all files of a volume to an archive.")
    .addHelpText("after", ARCHIVE_HELP)
    .action((volume: string, file: string) => archive.exportTo(volume, file, context));

  command
    .command("import <file> <name>")
    .description("Create a volume of an archive and print its id.")
    .option("--size <MiB>", SIZE, parseCount)
    .action((file: string, name: string, options: actions.SizeOptions) => archive.importFrom(file, name, options, context));
}
