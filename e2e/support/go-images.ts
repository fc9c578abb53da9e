import { cpSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { runProgram } from "@boxyard/testkit";
import { pushTinyImage } from "./tiny-image.ts";

/** Where the Go project's own archive is unpacked, which is also where Docker's images have it. */
const PLACE = "/usr/local/go";
/** What a build without cgo starts. */
const TOOLS = ["asm", "compile", "link"];

export interface GoImages {
  /** Of a registry: `127.0.0.1:5000`. */
  readonly host: string;
  /** A Go module; the image has as much of the standard library as this module needs. */
  readonly module: string;
  /** Of the tests: where programs and caches are. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Puts stand-ins for `golang:1.26` and `alpine:3.22` into a registry: busybox, and this machine's Go tool chain in the first one. */
export async function pushGoImages({ host, module, env: ambient }: GoImages): Promise<void> {
  const go = Bun.which("go") ?? join(PLACE, "bin/go");
  const ask = async (...args: string[]) => {
    const env = { ...ambient, CGO_ENABLED: "0", GOENV: "off", GOFLAGS: "", GOTOOLCHAIN: "local" };
    const { exitCode, stdout, stderr } = await runProgram([go, ...args], { cwd: module, env });
    if (exitCode !== 0) throw new Error(`go ${args.join(" ")}: ${stderr}`);
    return stdout.trim().split("\n");
  };
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
    for (const file of files) copyPart(join(root, file), join(tree, PLACE, file));
    for (const tool of TOOLS) copyPart(join(tools, tool), join(tree, PLACE, relative(root, tools), tool));
  };
  const env = [`PATH=${PLACE}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`, "GOTOOLCHAIN=local"];
  await pushTinyImage("library/golang", { Env: env }, { host, tag: "1.26", addFiles });
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
