import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError, PROGRAM } from "@boxyard/core";
import { packageVersion } from "@boxyard/sdk/pack";
import { packImage } from "../kubernetes/image.ts";

/** The images that a cluster needs beside those of templates (docs/kubernetes.md), as archives in `dist/`. */
export const IMAGES = [
  { file: "boxyard-server.tar", name: `localhost/boxyard-server:${packageVersion()}` },
  { file: "boxyard-guest.tar", name: `localhost/boxyard-guest:${packageVersion()}` },
] as const;

/** What the chart's first container uses. */
const PROGRAMS = ["cat", "mkdir", "rm", "sh"];
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";
/** The user of the chart's pods. */
const USER = "1000:1000";

export interface ImageParts {
  readonly executable: string;
  /** The directory of the guest bundle. */
  readonly guest: string;
  readonly directory: string;
  /** For what is made on the way. */
  readonly work: string;
}

/** Packs the server and the guest bundle into archives of one layer each. */
export async function packImages({ executable, guest, directory, work }: ImageParts): Promise<void> {
  const [server, bundle] = IMAGES;
  const tree = join(work, "server-tree");
  await makeServerTree(tree, executable);
  const entrypoint = ["/usr/bin/boxyard", PROGRAM.server];
  await packImage({ name: server.name, tree, entrypoint, user: USER }, join(directory, server.file), run);
  await packImage({ name: bundle.name, tree: guest }, join(directory, bundle.file), run);
}

/** The files of the server's image: the executable with the libraries that it loads, a shell, and the authorities of this machine. */
export async function makeServerTree(tree: string, executable: string): Promise<void> {
  for (const name of ["bin", "data", "dev", "etc/ssl/certs", "proc", "sys", "tmp", "usr/bin"])
    mkdirSync(join(tree, name), { recursive: true });
  chmodSync(join(tree, "tmp"), 0o1777);
  const put = (from: string, to: string) => {
    mkdirSync(dirname(join(tree, to)), { recursive: true });
    copyFileSync(from, join(tree, to));
    chmodSync(join(tree, to), 0o755);
  };
  put(executable, "usr/bin/boxyard");
  for (const library of await librariesOf(executable)) put(library, library);
  const busybox = Bun.which("busybox");
  if (!busybox)
    throw new AppError("failed_precondition", "an image needs a static busybox: apt-get install busybox-static", { reason: "needs" });
  put(busybox, "bin/busybox");
  for (const name of PROGRAMS) symlinkSync("busybox", join(tree, "bin", name));
  if (existsSync(AUTHORITIES)) cpSync(AUTHORITIES, join(tree, AUTHORITIES), { dereference: true });
  writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/:/bin/sh\nboxyard:x:1000:1000::/data:/bin/sh\n");
  writeFileSync(join(tree, "etc/group"), "root:x:0:\nboxyard:x:1000:\n");
  writeFileSync(join(tree, "etc/nsswitch.conf"), "hosts: files dns\n");
}

/** The loader and the libraries of a program, by their paths. */
async function librariesOf(program: string): Promise<string[]> {
  const text = await Bun.$`ldd ${program}`.text();
  return [...text.matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
}

async function run(argv: readonly string[]): Promise<void> {
  const child = Bun.spawn([...argv], { stdout: "ignore", stderr: "pipe" });
  const [said, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  if (code !== 0) throw new AppError("internal", `${argv[0]} failed: ${said.slice(-1_000)}`, { reason: "image" });
}
