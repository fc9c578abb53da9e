import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import { AT_FDCWD, CLONE, O } from "../sys/libc.ts";

/** Sets the host name of the sandbox whose init is `pid`: an image of memory holds the name of the sandbox that it was made of. */
export async function setHostname(forkServer: ForkServer, pid: number, hostname: string): Promise<void> {
  const program = new ChildProgram();
  const path = `/proc/${pid}/ns/uts`;
  const namespace = program.call("openat", [AT_FDCWD, path, O.RDONLY | O.CLOEXEC, 0], path);
  program.call("setns", [namespace, CLONE.NEWUTS], "uts namespace");
  program.call("sethostname", [hostname, Buffer.byteLength(hostname)], hostname);
  await forkServer.run(program);
}
