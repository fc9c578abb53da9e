import { ChildProgram } from "../sys/child.ts";
import { CLONE, close, O, open } from "../sys/libc.ts";

/** Gives the sandbox of this init its host name: an image of memory holds that of the sandbox that it was made of. */
export function setHostname(pid: number, hostname: string): void {
  const namespace = open(`/proc/${pid}/ns/uts`, O.RDONLY);
  try {
    const program = new ChildProgram();
    program.call("setns", [namespace, CLONE.NEWUTS], "uts namespace");
    program.call("sethostname", [hostname, Buffer.byteLength(hostname)], hostname);
    program.run();
  } finally {
    close(namespace);
  }
}
