import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";

const PACKAGE = resolve(import.meta.dir, "../..");
const CHECKOUT = resolve(PACKAGE, "../..");

/** Where the parts of the private `spec` package are found inside the published one. */
const SPEC_FILES: Readonly<Record<string, string>> = {
  "@boxyard/spec": "spec/index.js",
  "@boxyard/spec/tar": "spec/tar.js",
  "@boxyard/spec/platform-types": "spec/generated/platform-types.js",
  "@boxyard/spec/pb/process": "spec/generated/pb/process/process_pb.js",
  "@boxyard/spec/pb/filesystem": "spec/generated/pb/filesystem/filesystem_pb.js",
};

/**
 * Builds the package as it is published: modules and types that Node 20 and browsers can use as they are, with the parts of `spec` that they
 * need beside them. One file for each module, so that bundlers can leave out what is not used.
 */
export async function buildPackage(outDir: string): Promise<void> {
  const compiled = mkdtempSync(join(dirname(resolve(outDir)), ".build-"));
  try {
    await compile(compiled);
    rmSync(outDir, { recursive: true, force: true });
    cpSync(join(compiled, "sdk/src"), outDir, { recursive: true });
    cpSync(join(compiled, "spec/src"), join(outDir, "spec"), { recursive: true });
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
  for (const file of readdirSync(outDir, { recursive: true, encoding: "utf8" })) {
    if (/\.(js|d\.ts)$/.test(file)) pointToSpec(outDir, join(outDir, file));
    if (file.endsWith(".js.map")) nameSource(join(outDir, file));
  }
  writeFileSync(join(outDir, "package.json"), `${JSON.stringify(publishedManifest(), null, 2)}\n`);
  cpSync(join(PACKAGE, "PACKAGE.md"), join(outDir, "README.md"));
  cpSync(join(CHECKOUT, "LICENSE"), join(outDir, "LICENSE"));
}

async function compile(outDir: string): Promise<void> {
  // Under our own runtime: a server that was started without Node in its PATH can build the package too.
  const tsc = [process.execPath, join(CHECKOUT, "node_modules/typescript/bin/tsc")];
  // Only what makes templates, and connections of TCP, knows of Node; the rest is checked without its types.
  for (const config of ["tsconfig.build.json", "tsconfig.build-template.json"]) {
    const child = Bun.spawn([...tsc, "-p", join(PACKAGE, config), "--outDir", outDir], { stdout: "pipe", stderr: "inherit" });
    const output = await new Response(child.stdout).text();
    if ((await child.exited) !== 0) throw new Error(`the compiler found errors:\n${output}`);
  }
}

/** Names of the workspace become paths. */
function pointToSpec(outDir: string, file: string): void {
  const text = readFileSync(file, "utf8").replace(/(["'])(@boxyard\/spec[\w/]*)\1/g, (whole, _quote, name: string) => {
    const target = SPEC_FILES[name];
    if (!target) throw new Error(`${file} imports ${name}, which the published package does not hold`);
    const path = relative(dirname(file), join(outDir, target));
    return whole.replace(name, path.startsWith(".") ? path : `./${path}`);
  });
  // Types are looked up beside the modules they describe.
  writeFileSync(file, text.replace(/(from\s+["']\.{1,2}\/[^"']+)\.ts(["'])/g, "$1.js$2"));
}

/** A source map names its source as if it lay beside it (the map holds its text), not by its path on the machine that built it. */
function nameSource(file: string): void {
  const map = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  writeFileSync(file, JSON.stringify({ ...map, sources: [basename(file).replace(/\.js\.map$/, ".ts")] }));
}

function publishedManifest(): Record<string, unknown> {
  const { name, version, license, dependencies } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  const { "@boxyard/spec": _private, ...runtime } = dependencies as Record<string, string>;
  return {
    name,
    version,
    description: "Sandboxes for AI agents and untrusted code: the TypeScript client of Boxyard",
    license,
    type: "module",
    sideEffects: false,
    exports: {
      ".": { types: "./index.d.ts", default: "./index.js" },
      "./template": { types: "./template/index.d.ts", default: "./template/index.js" },
      "./tcp": { types: "./tcp/index.d.ts", default: "./tcp/index.js" },
      "./package.json": "./package.json",
    },
    engines: { node: ">=20" },
    dependencies: runtime,
  };
}

if (import.meta.main) await buildPackage(join(PACKAGE, "dist"));
