import { cp, mkdir, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ROOT } from "../config.ts";
import { sh } from "./sh.ts";

/** Large packages that no test in the guest needs. */
const LEFT_OUT = /^(@biomejs|@bufbuild\/(buf|protoc|protoplugin)|@typescript|typescript|bun-types|e2b|@types)/;

/** Copies the working tree of the checkout, with the npm packages that it needs, to `target`. */
export async function copyCheckout(target: string): Promise<void> {
  const files = (await sh(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT }))
    .split("\0")
    .filter(Boolean);
  for (const file of files) {
    await mkdir(join(target, dirname(file)), { recursive: true });
    // A file that git tracks may be missing in the working tree.
    await cp(join(ROOT, file), join(target, file), { verbatimSymlinks: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
  await copyModules(join(ROOT, "node_modules"), join(target, "node_modules"));
}

async function copyModules(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    const packages = name.startsWith("@") ? (await readdir(join(from, name))).map((inner) => `${name}/${inner}`) : [name];
    for (const found of packages) {
      if (LEFT_OUT.test(found) || found.startsWith(".")) continue;
      await mkdir(join(to, dirname(found)), { recursive: true });
      await sh(["cp", "-a", join(from, found), join(to, found)]);
    }
  }
}
