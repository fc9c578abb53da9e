import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const CHECKOUT = resolve(import.meta.dir, "../../../..");
/** Workspaces whose sources the dashboard is made of. */
const NEEDED = ["dashboard", "sdk", "spec", "core"];
const INSTALL_LIMIT_MS = 240_000;

/**
 * A checkout in which the dashboard's packages are installed: this one where its development packages are (`./boxyard test` installs them), else a copy
 * of what is needed in the directory `work`. So no other command has to install them.
 */
export async function checkoutWithPackages(work: string): Promise<string> {
  if (packagesOf(CHECKOUT).every((name) => existsSync(join(CHECKOUT, "node_modules", name)))) return CHECKOUT;
  copySources(work);
  await install(work);
  return work;
}

/** Names of the packages from npm's registry that the dashboard uses. */
function packagesOf(root: string): string[] {
  const manifest = JSON.parse(readFileSync(join(root, "packages/dashboard/package.json"), "utf8")) as {
    devDependencies: Record<string, string>;
  };
  return Object.keys(manifest.devDependencies);
}

/** The lock file names every workspace, so npm wants the manifests of all. */
function copySources(work: string): void {
  const workspaces = ["e2e", "bench", "tools", ...readdirSync(join(CHECKOUT, "packages")).map((name) => `packages/${name}`)];
  for (const name of workspaces) {
    if (!existsSync(join(CHECKOUT, name, "package.json"))) continue;
    mkdirSync(join(work, name), { recursive: true });
    cpSync(join(CHECKOUT, name, "package.json"), join(work, name, "package.json"));
  }
  for (const name of ["package.json", "package-lock.json"]) cpSync(join(CHECKOUT, name), join(work, name));
  for (const name of NEEDED) cpSync(join(CHECKOUT, "packages", name, "src"), join(work, "packages", name, "src"), { recursive: true });
}

async function install(work: string): Promise<void> {
  if (Bun.which("npm") === null) {
    throw new Error(
      "npm is not in the PATH of the server, and the dashboard's packages have to be installed: install npm, or use the executable of `boxyard dist`",
    );
  }
  const argv = [
    "npm",
    "ci",
    "--workspace",
    "@boxyard/dashboard",
    "--include=dev",
    "--omit=optional",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
  ];
  const child = Bun.spawn(argv, { cwd: work, stdin: "ignore", stdout: "pipe", stderr: "pipe", timeout: INSTALL_LIMIT_MS });
  const output = (await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])).join("").trim();
  const status = await child.exited;
  if (status !== 0)
    throw new Error(`'npm ci' failed (status ${status}); it needs the registry that this machine is set up for: ${output.slice(-1500)}`);
}
