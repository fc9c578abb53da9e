import { digestOf } from "@boxyard/driver/fake";
import { MEDIA } from "../manifest.ts";
import { configBytes, manifestBytes } from "../settings.ts";
import { NO_SETTINGS } from "./no-settings.ts";

/** An answer of a test; undefined: the registry answers as usual. */
export type Answer = (request: Request, url: URL) => Response | undefined | Promise<Response | undefined>;

/** A registry in this process that answers as a test wants it to. */
export class ScriptedRegistry {
  readonly blobs = new Map<string, Uint8Array>();
  readonly requests: { readonly path: string; readonly range: string | null; readonly authorization: string | null }[] = [];
  /** Asked first, for every request. */
  answer: Answer = () => undefined;
  top: { bytes: Uint8Array; mediaType: string } = { bytes: new Uint8Array(), mediaType: MEDIA.manifest };
  readonly server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: (request) => this.handle(request) });
  readonly host = `127.0.0.1:${this.server.port}`;

  add(bytes: Uint8Array): string {
    const digest = digestOf(bytes);
    this.blobs.set(digest, bytes);
    return digest;
  }

  /** An image of these tars, each packed by `pack`. */
  image(
    tars: readonly Uint8Array[],
    pack = (tar: Uint8Array) => tar,
    mediaType: string = MEDIA.layer,
  ): { bytes: Uint8Array; mediaType: string } {
    const config = configBytes({ layers: tars.map(digestOf), settings: NO_SETTINGS });
    this.add(config);
    const layers = tars.map(pack).map((bytes) => ({ mediaType, digest: this.add(bytes), size: bytes.length }));
    this.top = { bytes: manifestBytes(config, layers), mediaType: MEDIA.manifest };
    return this.top;
  }

  private async handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const range = request.headers.get("range");
    this.requests.push({ path: url.pathname, range, authorization: request.headers.get("authorization") });
    const scripted = await this.answer(request, url);
    if (scripted) return scripted;
    const name = url.pathname.split("/").at(-1) ?? "";
    if (url.pathname.includes("/manifests/") && !this.blobs.has(name)) {
      return new Response(this.top.bytes as Uint8Array<ArrayBuffer>, { headers: { "content-type": this.top.mediaType } });
    }
    const blob = this.blobs.get(name) as Uint8Array<ArrayBuffer> | undefined;
    if (!blob) return new Response("{}", { status: 404 });
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    const headers = { "content-range": `bytes ${from}-${blob.length - 1}/${blob.length}`, "content-type": MEDIA.manifest };
    return new Response(blob.subarray(from), { status: from > 0 ? 206 : 200, headers });
  }
}
