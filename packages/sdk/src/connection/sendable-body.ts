/** What a request can send as it is. */
export type Bytes = string | Uint8Array<ArrayBuffer> | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** Pages and workers of browsers say so; Node, Bun and Deno give their own names. */
const isBrowser = (): boolean => {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent?.startsWith("Mozilla/") === true;
};

/** The body of a request. Browsers send no stream over HTTP/1.1, so there a stream is read to its end first. */
export async function sendableBody(bytes: Bytes): Promise<Bytes> {
  if (!(bytes instanceof ReadableStream) || !isBrowser()) return bytes;
  return new Response(bytes as ReadableStream<Uint8Array<ArrayBuffer>>).blob();
}
