/** The longest part of a stream that is kept while its end is awaited; a message of the server is far shorter. */
const MOST_CHARACTERS = 1 << 20;

/**
 * The data of the messages in a stream of server-sent events, in the order in which they come. (`EventSource` cannot send the header that the session
 * needs.) Throws for a message without an end.
 */
export async function* dataOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const messages = (text + decoder.decode(value, { stream: true })).split("\n\n");
      text = messages.pop() ?? "";
      if (text.length > MOST_CHARACTERS) throw new Error("The server sends an event that does not end");
      for (const message of messages) {
        const lines = message.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice("data: ".length)] : []));
        if (lines.length > 0) yield lines.join("\n");
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
