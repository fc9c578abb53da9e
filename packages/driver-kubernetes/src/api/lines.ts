import { AppError } from "@boxyard/core";

/** Most bytes of a line. etcd keeps no object of more than 1.5 MiB. */
const MAX_LINE_BYTES = 4 << 20;

/** The lines of a stream, without empty ones. Throws `data_loss`, reason `bad_watch`, for a line without an end. */
export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) if (part !== "") yield part;
    if (rest.length > MAX_LINE_BYTES) throw new AppError("data_loss", "A line of a watch has no end", { reason: "bad_watch" });
  }
}
