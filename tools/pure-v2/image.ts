import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ABSENT_PROGRAMS, GUEST_PACKAGES, KERNEL_META_PACKAGE, LEFT_OUT_OF_SANDBOXES, SANDBOX_PACKAGES } from "./packages.ts";
import { sh } from "./sh.ts";

const FILES = join(import.meta.dir, "files");
/** Change this number when this file makes another image from the same parts. */
const LAYOUT = 4;
/** Size of a disk, which is a sparse file. */
const DISK_BYTES = 6 * 1024 ** 3;
/** Modules that the guest needs to mount its disk; it loads the other modules from the disk. */
const DISK_MODULES = ["virtio_pci", "virtio_blk", "ext4"] as const;

/** Files for a boot. They are in the cache directory, under the hash of everything that they are made from. */
export interface GuestImage {
  readonly kernel: string;
  readonly initrd: string;
  /** A disk with a Debian tree that mounts the second disk on `/work` and runs `/work/job`. */
  readonly system: string;
  /** The tree of a small template for sandboxes in the guest. */
  readonly sandboxTar: string;
}

/** Makes the kernel, the initial file system and the disk, unless an earlier run has made them. */
export async function guestImage(cacheDir: string): Promise<GuestImage> {
  const sources = await Promise.all(["initrd-init", "guest-init"].map((name) => readFile(join(FILES, name), "utf8")));
  const key = createHash("sha256")
    .update(
      JSON.stringify([sources, GUEST_PACKAGES, ABSENT_PROGRAMS, SANDBOX_PACKAGES, LEFT_OUT_OF_SANDBOXES, KERNEL_META_PACKAGE, LAYOUT]),
    )
    .digest("hex")
    .slice(0, 16);
  const done = join(cacheDir, "pure-v2", key);
  const image = {
    kernel: join(done, "kernel"),
    initrd: join(done, "initrd.gz"),
    system: join(done, "system"),
    sandboxTar: join(done, "sandbox.tar"),
  };
  if (await Bun.file(join(done, "complete")).exists()) return image;
  const work = `${done}.new`;
  await rm(work, { recursive: true, force: true });
  await rm(done, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  const version = await unpackKernel(work);
  await makeInitrd(work, version);
  await makeSystem(work, version);
  await makeSandboxTar(work);
  await rm(join(work, "unpacked"), { recursive: true, force: true });
  await writeFile(join(work, "complete"), "");
  await rename(work, done);
  return image;
}

/** Returns the kernel's version. */
async function unpackKernel(work: string): Promise<string> {
  // A new machine may have no package lists, or old ones with a kernel that the mirror no longer has.
  await sh(["apt-get", "update", "-qq"]);
  const depends = await sh(["apt-cache", "depends", KERNEL_META_PACKAGE]);
  const name = /Depends: (linux-image-\S+)/.exec(depends)?.[1];
  if (!name)
    throw new Error(`${KERNEL_META_PACKAGE} names no kernel; run 'apt-get update' and see 'apt-cache policy ${KERNEL_META_PACKAGE}'`);
  await sh(["apt-get", "download", name], { cwd: work });
  const deb = (await readdir(work)).find((file) => file.endsWith(".deb"));
  if (!deb) throw new Error(`apt-get download ${name} left no package in ${work}`);
  const unpacked = join(work, "unpacked");
  await sh(["dpkg", "-x", join(work, deb), unpacked]);
  await rm(join(work, deb));
  const version = (await readdir(join(unpacked, "lib/modules")))[0];
  if (!version) throw new Error(`${name} holds no modules`);
  await sh(["depmod", "-b", unpacked, version]);
  await cp(join(unpacked, "boot", `vmlinuz-${version}`), join(work, "kernel"));
  return version;
}

async function makeInitrd(work: string, version: string): Promise<void> {
  const root = join(work, "initrd");
  for (const directory of ["bin", "dev", "proc", "sys", "new", "modules"]) await mkdir(join(root, directory), { recursive: true });
  await cp("/bin/busybox", join(root, "bin/busybox"));
  await cp(join(FILES, "initrd-init"), join(root, "init"));
  const paths: string[] = [];
  for (const module of DISK_MODULES) {
    const insmods = await sh(["modprobe", "-d", join(work, "unpacked"), "-S", version, "--show-depends", module]);
    for (const [, path] of insmods.matchAll(/^insmod (\S+)/gm)) if (path && !paths.includes(path)) paths.push(path);
  }
  for (const [index, path] of paths.entries()) {
    await cp(path, join(root, "modules", `${String(index).padStart(2, "0")}-${path.split("/").at(-1)}`));
  }
  await sh(["sh", "-c", 'chmod 755 init && find . | cpio -o -H newc --quiet | gzip -1 > "$1"', "sh", join(work, "initrd.gz")], {
    cwd: root,
  });
  await rm(root, { recursive: true });
}

async function machineSuite(): Promise<string> {
  return /^VERSION_CODENAME=(\S+)/m.exec(await readFile("/etc/os-release", "utf8"))?.[1] ?? "bookworm";
}

/** While it runs, it mounts file systems below `work`. Tests that compare the mounts of the machine ignore these. */
const debstrapIn = (work: string): string[] => ["env", `TMPDIR=${work}`, "mmdebstrap"];

async function makeSandboxTar(work: string): Promise<void> {
  const user = 'chroot "$1" useradd --create-home --shell /bin/bash --uid 1000 user';
  const sudo = 'echo "user ALL=(ALL:ALL) NOPASSWD: ALL" > "$1/etc/sudoers.d/user" && chmod 440 "$1/etc/sudoers.d/user"';
  // Not by dpkg's path-exclude: the packages' own scripts need Perl.
  const trim = `cd "$1" && bash -O nullglob -c 'rm -rf ${LEFT_OUT_OF_SANDBOXES.join(" ")}'`;
  const hooks = [user, sudo, trim].map((hook) => `--customize-hook=${hook}`);
  const packages = `--include=${SANDBOX_PACKAGES.join(",")}`;
  // A layer has no device nodes, but it has the directory where /dev is mounted.
  await sh([
    ...debstrapIn(work),
    "--quiet",
    "--variant=essential",
    "--skip=output/dev",
    packages,
    ...hooks,
    await machineSuite(),
    join(work, "sandbox.tar"),
  ]);
  await mkdir(join(work, "extra/dev"), { recursive: true });
  await sh(["tar", "--append", `--file=${work}/sandbox.tar`, `--directory=${work}/extra`, "--owner=0", "--group=0", "./dev"]);
  await rm(join(work, "extra"), { recursive: true });
}

async function makeSystem(work: string, version: string): Promise<void> {
  const tree = join(work, "tree");
  const leaveOut = ["doc", "info", "locale", "man"].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`);
  const packages = `--include=${GUEST_PACKAGES.join(",")}`;
  await sh([...debstrapIn(work), "--quiet", "--variant=essential", ...leaveOut, packages, await machineSuite(), tree]);
  await mkdir(join(tree, "usr/lib/modules"), { recursive: true });
  await rename(join(work, "unpacked/lib/modules", version), join(tree, "usr/lib/modules", version));
  await cp(join(FILES, "guest-init"), join(tree, "guest-init"));
  const absent = ABSENT_PROGRAMS.map((name) => join(tree, "usr/local/bin", name));
  for (const path of absent) await writeFile(path, "#!/bin/sh\necho 'this is not in the guest' >&2\nexit 1\n");
  await sh(["chmod", "755", join(tree, "guest-init"), ...absent]);
  await mkdir(join(tree, "work"));
  await makeDisk(tree, join(work, "system"));
  await rm(tree, { recursive: true });
}

/** A disk with the files of `tree`. */
export async function makeDisk(tree: string, disk: string): Promise<void> {
  await writeFile(disk, "");
  await truncate(disk, DISK_BYTES);
  // The disk needs no journal: it is not used again after a crash.
  await sh(["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-d", tree, disk]);
}

/** Text of a file on a disk whose guest has powered off; undefined if the file is missing or empty. */
export async function readFromDisk(disk: string, path: string): Promise<string | undefined> {
  const target = `${disk}.out`;
  await rm(target, { force: true });
  await sh(["debugfs", "-R", `dump ${path} ${target}`, disk]);
  const file = Bun.file(target);
  const text = (await file.exists()) ? await file.text() : undefined;
  await rm(target, { force: true });
  return text || undefined;
}
