import { cpSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { GO_PLACE, type GoRun, runGo } from "./go.ts";
import { pushTinyImage } from "./tiny-image.ts";

/** What a build without cgo starts. */
const TOOLS = ["asm", "compile", "link"];

/** Without optimisation and with little garbage collection the compiler takes two thirds of the CPU time, and 280 MB. */
const QUICK_COMPILER = ["GOFLAGS='-gcflags=all=-N -l'", "GOGC=400"];

export interface GoImages {
  /** Of a registry: `127.0.0.1:5000`. */
  readonly host: string;
  /** A Go module; the image has as much of the standard library as this module needs. */
  readonly module: string;
  readonly env: GoRun["env"];
}

/** Puts stand-ins for `golang:1.26` and `alpine:3.22` into a registry: busybox, and this machine's Go tool chain in the first one. */
export async function pushGoImages({ host, module, env: ofTests }: GoImages): Promise<void> {
  const ask = async (...args: string[]) => (await runGo(args, { cwd: module, env: ofTests })).split("\n");
  const [root = "", tools = ""] = await ask("env", "GOROOT", "GOTOOLDIR");
  const packages = (await ask("list", "-deps", "-f", "{{.Dir}}", ".")).filter((directory) => directory.startsWith(join(root, "src")));
  const files = [
    "bin/go",
    "VERSION",
    "go.env",
    "pkg/include",
    "src/go.mod",
    "src/vendor/modules.txt",
    ...packages.map((directory) => relative(root, directory)),
  ];
  const addFiles = (tree: string) => {
    for (const file of files) copyPart(join(root, file), join(tree, GO_PLACE, file));
    for (const tool of TOOLS) copyPart(join(tools, tool), join(tree, GO_PLACE, relative(root, tools), tool));
  };
  const path = `PATH=${GO_PLACE}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
  await pushTinyImage("library/golang", { Env: [path, "GOTOOLCHAIN=local", ...QUICK_COMPILER] }, { host, tag: "1.26", addFiles });
  await pushTinyImage("library/alpine", { Env: ["PATH=/usr/local/bin:/bin"] }, { host, tag: "3.22", addFiles: addNobody });
}

/** A file, or the files right in a directory but for its tests, and what is included from further below: packages lie inside of each other. */
function copyPart(from: string, to: string): void {
  const isWanted = (path: string) =>
    path === from || path.endsWith(".h") || (dirname(path) === from && !path.endsWith("_test.go")) || statSync(path).isDirectory();
  cpSync(from, to, { recursive: true, filter: (path) => isWanted(path) && basename(path) !== "testdata" });
}

function addNobody(tree: string): void {
  writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n");
  mkdirSync(join(tree, "usr/local/bin"), { recursive: true });
}
