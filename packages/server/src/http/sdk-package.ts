/** Path of the package of the TypeScript client, for `npm install <server>/sdk/npm.tgz`. The package holds no secret, and needs no key. */
export const SDK_PACKAGE_PATH = "/sdk/npm.tgz";

/** What the handler of the client package uses. */
export interface SdkServices {
  /** Gives the path of the installable package of the TypeScript client. */
  readonly sdkPackage: () => Promise<string>;
}

/** Serves the client package that fits this server. Concurrent requests make the package once; after a failure the next request tries again. */
export function getSdkPackage({ sdkPackage }: SdkServices): (request: Request) => Promise<Response> {
  let making: Promise<string> | undefined;
  return async (request) => {
    making ??= sdkPackage().catch((error: unknown) => {
      making = undefined;
      throw error;
    });
    const path = await making;
    const file = Bun.file(path);
    const etag = `"${path.replace(/^.*\//, "")}"`;
    // Every version has the same address: caches must revalidate.
    const headers = { ETag: etag, "Cache-Control": "no-cache" };
    if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
    return new Response(file, { headers: { ...headers, "Content-Type": "application/gzip", "Content-Length": String(file.size) } });
  };
}
