import { ToolError } from "../errors.ts";
import { RESULT_BYTES } from "./output-text.ts";

interface Range {
  readonly path: string;
  readonly fromLine: number;
  readonly lines: number;
}

const NEWLINE = 0x0a;

/** Lines of a file as it is read, at most `RESULT_BYTES`, with a note when there is more. Reads no more of the file than it needs. */
export async function readLines(stream: ReadableStream<Uint8Array>, { path, fromLine, lines }: Range): Promise<string> {
  const taken: Uint8Array[] = [];
  let bytes = 0;
  let line = 1;
  let isFirst = true;
  for await (const chunk of chunksOf(stream)) {
    if (isFirst && chunk.subarray(0, 8192).includes(0)) {
      throw new ToolError(`${path} is a binary file.`, "Look at it with `run`, e.g. file, xxd or strings.");
    }
    isFirst = false;
    let at = 0;
    while (at < chunk.length) {
      const newline = chunk.indexOf(NEWLINE, at);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (line >= fromLine) {
        if (line >= fromLine + lines) return withNote(taken, `[more: from_line ${line}]`);
        const part = chunk.slice(at, end);
        if (bytes + part.length > RESULT_BYTES) return cut(taken, part.subarray(0, RESULT_BYTES - bytes), line);
        taken.push(part);
        bytes += part.length;
      }
      if (newline >= 0) line++;
      at = end;
    }
  }
  const count = isFirst ? 0 : line;
  if (bytes === 0 && fromLine > count && count > 0) {
    throw new ToolError(`${path} has fewer than ${fromLine} lines.`, `Its last line is ${count}.`);
  }
  return bytes === 0 ? "(empty file)" : Buffer.concat(taken).toString();
}

/** When a result is full: the lines before the one that does not fit, or the beginning of a line that no result could hold. */
function cut(taken: Uint8Array[], rest: Uint8Array, line: number): string {
  const whole = Buffer.concat(taken);
  const lastNewline = whole.lastIndexOf(NEWLINE);
  if (lastNewline >= 0) return withNote([whole.subarray(0, lastNewline + 1)], `[more: from_line ${line}]`);
  return withNote([whole, rest, Buffer.from("\n")], `[line ${line} goes on: run \`cut -b\`; next: from_line ${line + 1}]`);
}

const withNote = (parts: readonly Uint8Array[], note: string): string => `${Buffer.concat(parts).toString()}${note}`;

/** The chunks of a stream; leaving the loop cancels the stream. */
async function* chunksOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
