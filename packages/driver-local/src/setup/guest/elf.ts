import { AppError } from "@boxyard/core";

const PT_INTERP = 3;
const PROGRAM_HEADER_BYTES = 56;

interface Interpreter {
  /** Offset of the string in the file, and its size in bytes, NUL included. */
  readonly offset: number;
  readonly size: number;
}

/** Finds the interpreter string of a 64-bit little-endian executable by its program headers. `head` is the beginning of the file. */
function findInterpreter(head: Uint8Array): Interpreter {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const isElf64 = view.getUint32(0, false) === 0x7f454c46 && view.getUint8(4) === 2 && view.getUint8(5) === 1;
  if (!isElf64) throw new AppError("internal", "the compiled agent is not a 64-bit executable", { reason: "bad_agent" });
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
 * The bytes to write, and their offset, so that the loader at `path` starts an executable instead of the machine's loader. The string is replaced
 * in place (a compiled Bun program finds its code at fixed offsets), so `path` must not be longer than the old string.
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
