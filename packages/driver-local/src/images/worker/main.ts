import { writeFileSync } from "node:fs";
import { KernelError } from "@boxyard/core/errno";
import { writeAll } from "../../sys/at.ts";
import { syscall } from "../../sys/syscall.ts";
import { failureOf } from "./failure.ts";
import type { Job, Message } from "./jobs.ts";
import { runJob } from "./run.ts";

/* Program for work on layers: a separate process, so that neither its CPU time nor a hostile tar affects the server. Usage: main.ts JOB (JSON). */

const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

const job = JSON.parse(process.argv[2] ?? "") as Job;
// End with the server: its successor removes the unfinished layer.
syscall("prctl", [PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0]);
// When a tar needs more memory than there is, the kernel kills this process, not the server.
writeFileSync("/proc/self/oom_score_adj", "300");
// An export's standard output is the tar itself.
const messages = job.kind === "export" ? 2 : 1;
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
