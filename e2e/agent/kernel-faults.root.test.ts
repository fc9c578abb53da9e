import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { eventually } from "@boxyard/testkit";
import { readFaultsConfig } from "../faults/config.ts";
import { type KernelFault, nameOf, withFault } from "../faults/injector.ts";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent, testAlone } from "./support/agent-under-test.ts";
import { asRoot, content, download, openFiles, postCompose, put, putForm } from "./support/files.ts";
import { stream, unary } from "./support/rpc.ts";
import { run } from "./support/run.ts";

/*
 * Each verb of the agent while the kernel refuses its calls, by strace from outside. Every answer comes in time and is one that the contract
 * allows; files that were there before are complete, no temporary file and no descriptor is left, and the same verb works afterwards.
 */

setDefaultTimeout(120_000);

/** For one answer, on a machine that does other things too. */
const LIMIT_MS = 30_000;

const HOME = "/home/user/faults";
const LARGE = new Uint8Array(2 * 1024 * 1024).fill(7);

const error = (calls: string, name: string): KernelFault => ({ calls, answer: { error: name } });
const OPEN = "openat,openat2,open";
const RENAME = "rename,renameat,renameat2";
const WRITE = "writev,pwrite64,pwritev,pwritev2,copy_file_range,sendfile,splice,ioctl";
const FAULTS: readonly KernelFault[] = [
  error(OPEN, "EMFILE"),
  error("mkdir,mkdirat", "ENOSPC"),
  error(RENAME, "EROFS"),
  error("fchown,fchownat,chown,lchown", "EIO"),
  error(WRITE, "ENOSPC"),
  error("read,pread64,readv,preadv", "EIO"),
  error("statx,fstat,newfstatat,stat,lstat", "EIO"),
];
/** Only with BOXYARD_CHAOS_SECONDS. */
const MORE: readonly KernelFault[] = [
  ...["EIO", "ENOSPC", "EROFS"].map((name) => error(OPEN, name)),
  error("mkdir,mkdirat", "EROFS"),
  error(RENAME, "EIO"),
  error(WRITE, "EIO"),
  ...["EIO", "EROFS"].map((name) => error("unlink,unlinkat,rmdir", name)),
  error("fchmod,chmod,fchmodat", "EROFS"),
  error("fsetxattr,setxattr,lsetxattr", "ENOSPC"),
  error("flistxattr,listxattr,llistxattr,fgetxattr,getxattr", "EIO"),
  error("getdents64", "EIO"),
  error("pipe2,pipe", "EMFILE"),
  error("sendmsg", "EMFILE"),
  error("fcntl,fcntl64", "EIO"),
  error("inotify_init1,inotify_add_watch", "ENOSPC"),
  error("readlink,readlinkat", "EIO"),
  { calls: `${OPEN},${RENAME},mkdir,mkdirat,unlink,unlinkat`, answer: { delayMs: 200 } },
];

type Verb = (agent: AgentUnderTest) => Promise<number>;
const rpc = (method: string, message: object) => async (agent: AgentUnderTest) =>
  (await unary(agent, `filesystem.Filesystem/${method}`, message)).status;
const http = async (answer: Promise<Response>) => {
  const response = await answer;
  await response.arrayBuffer();
  return response.status;
};
const VERBS: Readonly<Record<string, Verb>> = {
  small: (agent) => http(put(agent, `${HOME}/old`, "new")),
  large: (agent) => http(put(agent, `${HOME}/old`, LARGE)),
  chunked: (agent) => http(put(agent, `${HOME}/old`, new Blob([LARGE]).stream())),
  form: (agent) =>
    http(
      putForm(agent, [
        [`${HOME}/deep/a`, "x"],
        [`${HOME}/deep/b`, "y".repeat(1 << 20)],
      ]),
    ),
  download: (agent) => http(download(agent, `${HOME}/kept`)),
  compose: (agent) => http(postCompose(agent, { source_paths: [`${HOME}/part`], destination: `${HOME}/composed` })),
  stat: rpc("Stat", { path: `${HOME}/kept` }),
  list: rpc("ListDir", { path: HOME, depth: 1 }),
  makeDir: rpc("MakeDir", { path: `${HOME}/made/here` }),
  move: rpc("Move", { source: `${HOME}/moving`, destination: `${HOME}/moved` }),
  remove: rpc("Remove", { path: `${HOME}/tree` }),
  async watch(agent) {
    const watch = await stream(agent, "filesystem.Filesystem/WatchDir", { path: HOME });
    const { value } = await watch.envelopes.next();
    watch.leave();
    return value?.message.start ? 200 : 500;
  },
  /** 200 only with the output; 500 where the end, or the lack of one, reports the fault; -2 where output is missing and no error says so. */
  async command(agent) {
    const { stdout, end } = await run(agent, "echo fine");
    return end && (stdout === "fine\n" || end.error) ? (end.error ? 500 : 200) : end ? -2 : 500;
  },
};
/** Answers to injected errors of the kernel: 403 for EROFS, 500 for EIO and EMFILE, 507 for a full disk, which is 429 in an RPC. */
const ALLOWED = new Set([200, 403, 429, 500, 507]);

let agent: AgentUnderTest;
let pid: number;
beforeAll(async () => {
  agent = await startAgent();
  pid = hostPid(agent);
  // The first request of a kind loads its code, in this agent from source files, which a fault would refuse. A compiled one has it in itself.
  await asRoot(agent, SETUP);
  for (const verb of Object.values(VERBS)) await verb(agent);
});
afterAll(() => agent.stop());

/** The agent's number outside: the one process of the agent's program with its port, beside the init above it. */
function hostPid({ baseUrl }: AgentUnderTest): number {
  const setting = `BOXYARD_AGENT_PORT=${new URL(baseUrl).port}\0`;
  const textOf = (name: string, file: string) => readFileSync(`/proc/${name}/${file}`, "utf8");
  const found = readdirSync("/proc").find((name) => {
    try {
      return textOf(name, "cmdline").startsWith(`${process.execPath}\0`) && textOf(name, "environ").includes(setting);
    } catch {
      return false;
    }
  });
  return Number(found);
}

const SETUP = [
  `rm -rf ${HOME} && mkdir -p ${HOME}/tree/below && cd ${HOME}`,
  "printf before > old; printf kept > kept; printf part > part; printf moving > moving; touch tree/below/file",
  `chown -R user ${HOME}`,
].join("\n");
const NAMES = new Set(["old", "kept", "part", "moving", "moved", "composed", "tree", "deep", "made"]);
/** The old content, or one of the new ones. */
const OLD_SIZES = new Set([6, 3, LARGE.length]);

for (const fault of [...FAULTS, ...(readFaultsConfig().isDeep ? MORE : [])]) {
  testAlone(`each verb is answered, and nothing is left, with ${nameOf(fault)}`, async () => {
    await asRoot(agent, SETUP);
    const open = await openFiles(agent);
    const answers: Record<string, number> = {};
    await withFault(pid, fault, async () => {
      for (const [name, verb] of Object.entries(VERBS))
        answers[name] = await Promise.race([verb(agent), Bun.sleep(LIMIT_MS).then(() => -1)]);
    });
    if (readFaultsConfig().isDeep) console.log(nameOf(fault), JSON.stringify(answers));
    expect(Object.entries(answers).filter(([, status]) => !ALLOWED.has(status))).toEqual([]);
    // A fault that no verb meets proves nothing.
    if (FAULTS.includes(fault)) expect(Object.values(answers).filter((status) => status !== 200)).not.toEqual([]);
    // No file is incomplete, and neither a temporary file is left nor a directory of a verb that failed.
    const names = (await asRoot(agent, `ls -A ${HOME}`)).split("\n");
    expect(names.filter((name) => !NAMES.has(name))).toEqual([]);
    expect([await content(agent, `${HOME}/kept`), OLD_SIZES.has(Number(await asRoot(agent, `stat -c %s ${HOME}/old`)))]).toEqual([
      "kept",
      true,
    ]);
    const isMade = [names.includes("deep"), names.includes("made")];
    if (!fault.calls.includes("rmdir")) expect(isMade).toEqual([answers.form === 200, answers.makeDir === 200]);
    await eventually("descriptors are given back", async () => (await openFiles(agent)) <= open);
    // All is well again.
    await asRoot(agent, SETUP);
    const again = await Promise.all(Object.values(VERBS).map((verb) => verb(agent)));
    expect(again.every((status) => status === 200)).toBe(true);
  });
}
