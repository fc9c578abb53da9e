import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bytesField, bytesIn, fieldsIn, messagesIn, numberField, numberIn, withMessages } from "../criu/image-messages.ts";

/*
 * A thread that waits in poll(2) when CRIU stops it: the kernel keeps what it needs to go on with the call, which no image can hold, so CRIU lets the call
 * return EINTR. Programs that set no signal handler do not expect that, and end (`tail -f`). A call without a time limit can begin again instead. CRIU
 * does that itself for all other calls that can begin again; there is no poll on arm64, where programs call ppoll.
 */

/** Fields of `core_entry` of x86, of its `thread_info`, and of the registers in that (criu/images/core-x86.proto). */
const CORE = { info: 2 } as const;
const INFO = { registers: 2 } as const;
const REGISTERS = { result: 11, timeout: 13, call: 16, instruction: 17 } as const;
const POLL = 7n;
const EINTR = 2n ** 64n - 4n;
/** Length of the instruction `syscall`. */
const SYSCALL_BYTES = 2n;
/** The register of the result as the image has it. */
const INTERRUPTED = numberField(REGISTERS.result, EINTR);
const LOW = 0xffff_ffffn;
const SIGN = 0x8000_0000n;

/** Makes interrupted calls of poll without a time limit begin again, in the images of all threads in a directory. */
export function restartPolls(images: string): void {
  if (process.arch !== "x64") return;
  for (const name of readdirSync(images)) {
    if (!/^core-\d+\.img$/.test(name)) continue;
    const path = join(images, name);
    const restarted = withRestartedPoll(readFileSync(path));
    if (restarted) writeFileSync(path, restarted);
  }
}

/** The image of a thread whose call begins again; undefined when it does not wait in such a call. */
export function withRestartedPoll(image: Buffer): Buffer | undefined {
  // Few threads wait like that, and there may be many: the others need no look at their fields.
  if (!image.includes(INTERRUPTED)) return undefined;
  const [message, ...others] = messagesIn(image);
  const core = message && fieldsIn(message);
  const info = core && bytesIn(core, CORE.info);
  const thread = info && fieldsIn(info);
  const registers = thread && bytesIn(thread, INFO.registers);
  const found = registers && restarted(registers);
  if (!core || !thread || !found) return undefined;
  const replaced = (fields: typeof core, number: number, bytes: Buffer) =>
    Buffer.concat(fields.map((field) => (field.number === number ? bytesField(number, bytes) : field.raw)));
  const newInfo = replaced(thread, INFO.registers, found);
  return withMessages(image, [replaced(core, CORE.info, newInfo), ...others]);
}

function restarted(registers: Buffer): Buffer | undefined {
  const fields = fieldsIn(registers);
  const isWaiting = numberIn(fields, REGISTERS.call) === POLL && numberIn(fields, REGISTERS.result) === EINTR;
  // A C int: the kernel waits without a limit when it is negative.
  const isForever = (numberIn(fields, REGISTERS.timeout) & LOW & SIGN) !== 0n;
  if (!isWaiting || !isForever) return undefined;
  const parts = fields.map(({ number, value, raw }) => {
    if (number === REGISTERS.result) return numberField(number, POLL);
    if (number === REGISTERS.instruction && value !== undefined) return numberField(number, value - SYSCALL_BYTES);
    return raw;
  });
  return Buffer.concat(parts);
}
