/** Where the package of the TypeScript client is, to be installed by `npm install <server>/sdk/npm.tgz`. It holds no secret and needs no key. */
export const SDK_PACKAGE_PATH = "/sdk/npm.tgz";

/** What serves the client package. */
export interface SdkServices {
  /** Gives the path of the installable package of the TypeScript client. */
  readonly sdkPackage: () => Promise<string>;
}

/** Serves the client package that fits this server. However many ask at once, it is made one time; a failure is tried again by the next request. */
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
    // A new version has the same address: caches must ask each time.
    const headers = { ETag: etag, "Cache-Control": "no-cache" };
    if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
    return new Response(file, { headers: { ...headers, "Content-Type": "application/gzip", "Content-Length": String(file.size) } });
  };
}
