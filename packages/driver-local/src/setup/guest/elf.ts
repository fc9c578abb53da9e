import { AppError } from "@boxyard/core";

const PT_INTERP = 3;
const PROGRAM_HEADER_BYTES = 56;

interface Interpreter {
  /** Where the string lies in the file, and how many bytes it may take, its NUL included. */
  readonly offset: number;
  readonly size: number;
}

/** Finds the interpreter string of a 64-bit little-endian executable, by its program headers. `head` is the file's beginning. */
function findInterpreter(head: Uint8Array): Interpreter {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const isElf64 = view.getUint32(0, false) === 0x7f454c46 && view.getUint8(4) === 2 && view.getUint8(5) === 1;
  if (!isElf64) throw new AppError("internal", "the compiled agent is no 64-bit executable", { reason: "bad_agent" });
  const table = Number(view.getBigUint64(32, true));
  const count = view.getUint16(56, true);
  for (let i = 0; i < count; i++) {
    const at = table + i * PROGRAM_HEADER_BYTES;
    if (view.getUint32(at, true) !== PT_INTERP) continue;
    return { offset: Number(view.getBigUint64(at + 8, true)), size: Number(view.getBigUint64(at + 32, true)) };
  }
  throw new AppError("internal", "the compiled agent names no interpreter", { reason: "bad_agent" });
}

/**
 * What to write where, so that an executable is started by the loader at `path` instead of the machine's. The string is replaced in place
 * (a compiled Bun program finds its code at fixed offsets), so `path` must not be longer than what was there.
 */
export function interpreterPatch(head: Uint8Array, path: string): { readonly offset: number; readonly bytes: Uint8Array } {
  const { offset, size } = findInterpreter(head);
  const bytes = new Uint8Array(size);
  const text = new TextEncoder().encode(path);
  if (text.length >= size)
    throw new AppError("internal", `the agent's interpreter string has no room for ${path}`, { reason: "bad_agent" });
  bytes.set(text);
  return { offset, bytes };
}
