import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { ABSENT_PROGRAMS, GUEST_PACKAGES, KERNEL_META_PACKAGE, LEFT_OUT_OF_BASE } from "./packages.ts";
import { sh } from "./sh.ts";

const FILES = join(import.meta.dir, "files");
/** Change this number when this file makes another image from the same parts. */
const LAYOUT = 5;
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

/**
 * Makes the kernel, the initial file system, the disk and the small template, unless an earlier run has made them. The disk and the small template come
 * from `baseTar`, the tar of the base template: to make trees of their own with mmdebstrap takes a minute of CPU time. The name of the tar contains the
 * hash of its recipe.
 */
export async function guestImage(cacheDir: string, baseTar: string): Promise<GuestImage> {
  const sources = await Promise.all(["initrd-init", "guest-init"].map((name) => readFile(join(FILES, name), "utf8")));
  const key = createHash("sha256")
    .update(JSON.stringify([sources, basename(baseTar), LEFT_OUT_OF_BASE, GUEST_PACKAGES, ABSENT_PROGRAMS, KERNEL_META_PACKAGE, LAYOUT]))
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
  const tree = join(work, "tree");
  await unpackBase(baseTar, tree);
  await sh(["tar", "--create", "--numeric-owner", `--file=${join(work, "sandbox.tar")}`, `--directory=${tree}`, "."]);
  await completeSystem(work, tree, version);
  await makeDisk(tree, join(work, "system"));
  await rm(tree, { recursive: true });
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

async function unpackBase(tar: string, tree: string): Promise<void> {
  await mkdir(tree);
  const options = ["--preserve-permissions", "--numeric-owner", "--wildcards", "--anchored"];
  const leaveOut = LEFT_OUT_OF_BASE.map((pattern) => `--exclude=${pattern}`);
  await sh(["tar", "--extract", ...options, ...leaveOut, `--file=${tar}`, `--directory=${tree}`]);
}

/** Completes the small tree of the base template to the Debian tree of the guest. */
async function completeSystem(work: string, tree: string, version: string): Promise<void> {
  await addPackages(work, tree);
  await mkdir(join(tree, "usr/lib/modules"), { recursive: true });
  await rename(join(work, "unpacked/lib/modules", version), join(tree, "usr/lib/modules", version));
  await cp(join(FILES, "guest-init"), join(tree, "guest-init"));
  const absent = ABSENT_PROGRAMS.map((name) => join(tree, "usr/local/bin", name));
  for (const path of absent) await writeFile(path, "#!/bin/sh\necho 'this is not in the guest' >&2\nexit 1\n");
  await sh(["chmod", "755", join(tree, "guest-init"), ...absent]);
  await mkdir(join(tree, "work"));
}

/** Unpacks the guest's packages, and their dependencies, that the tree does not have yet. Their scripts do not run; the guest needs none of them. */
async function addPackages(work: string, tree: string): Promise<void> {
  const debs = join(work, "debs");
  await mkdir(join(debs, "partial"), { recursive: true });
  const settings = [
    `Dir::State::status=${join(tree, "var/lib/dpkg/status")}`,
    `Dir::Cache::archives=${debs}/`,
    "APT::Sandbox::User=root",
    "APT::Install-Recommends=false",
    "Debug::NoLocking=true",
  ].flatMap((setting) => ["-o", setting]);
  await sh(["apt-get", "--quiet=2", "--yes", ...settings, "--download-only", "install", ...GUEST_PACKAGES]);
  // `dpkg -x` would replace the link /lib with a directory.
  const unpack = 'dpkg-deb --fsys-tarfile "$1" | tar --extract --preserve-permissions --keep-directory-symlink --directory="$2"';
  for (const name of await readdir(debs)) {
    if (name.endsWith(".deb")) await sh(["bash", "-o", "pipefail", "-c", unpack, "bash", join(debs, name), tree]);
  }
  await rm(debs, { recursive: true });
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
