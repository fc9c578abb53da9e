import { KernelError } from "@boxyard/core/errno";
import { writeAll } from "../../sys/at.ts";
import { close, O, open, syscall } from "../../sys/libc.ts";
import { failureOf } from "./failure.ts";
import type { Job, Message } from "./jobs.ts";
import { runJob } from "./run.ts";

/*
 * Program for work on layers: a separate process, so that neither its CPU time nor a hostile tar affects the server. Usage: main.ts JOB (JSON).
 * Each step of a build starts it, so it loads only what its job needs, and none of `node:fs`, `node:stream` and `node:zlib` for a commit: they take
 * longer to load than a small layer takes to make.
 */

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

async function main(job: Job): Promise<void> {
  // End with the server: its successor removes the unfinished layer.
  syscall("prctl", [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]);
  // When a tar needs more memory than there is, the kernel kills this process, not the server.
  const score = open("/proc/self/oom_score_adj", O.WRONLY);
  writeAll(score, Buffer.from("300"));
  close(score);
  // An export's standard output is the tar itself.
  const messages = job.kind === "export" || job.kind === "exportVolume" ? 2 : 1;
  const send = (message: Message) => writeAll(messages, Buffer.from(`${JSON.stringify(message)}\n`));
  try {
    await runJob(job, send);
  } catch (error) {
    try {
      send(failureOf(error));
    } catch (sending) {
      if (!(sending instanceof KernelError)) throw sending;
    }
    process.exitCode = 1;
  }
}

// No `await` here: as a bundle with bytecode the program is a CommonJS module.
void main(JSON.parse(process.argv[2] ?? "") as Job);
