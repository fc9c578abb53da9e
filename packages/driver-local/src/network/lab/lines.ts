/** For tests: calls `onLine` for each line of a program's output, until it ends. */
export async function readLines(stream: ReadableStream<Uint8Array>, onLine: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  }
}
