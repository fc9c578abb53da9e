import { AppError, withoutTrailing } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import {
  type CommitOptions,
  DEFAULT_MAX_LAYER_BYTES,
  type ImageStore,
  type ImportLayerOptions,
  type LayerCapabilities,
  type LayerSource,
} from "../images/images.ts";
import type { LayerInfo, MakeLayerOptions } from "../storage/layers.ts";
import { FakeLayers } from "./layers.ts";
import { digestOf, makeTar } from "./make-tar.ts";
import type { FakeSandboxes } from "./sandboxes.ts";
import type { FakeWorld } from "./world.ts";

/** Makes the layers of a fake world. What a fake sandbox "has changed" are its `files`. */
export class FakeImages extends FakeLayers implements ImageStore {
  readonly capabilities: LayerCapabilities;
  private readonly sandboxes: FakeSandboxes;

  constructor(world: FakeWorld, sandboxes: FakeSandboxes) {
    super(world);
    this.capabilities = { maxLayers: world.maxLayers, localFiles: !world.lacks.has("localFiles") };
    this.sandboxes = sandboxes;
  }

  importLayer(source: LayerSource, options: ImportLayerOptions): Promise<LayerInfo> {
    return this.world.faults.around("importLayer", options.signal, async () => {
      options.signal.throwIfAborted();
      if ("path" in source && !this.capabilities.localFiles) {
        throw new AppError("unimplemented", "The fake driver opens no files of the server's machine", { reason: "no_local_files" });
      }
      const stream = "path" in source ? Bun.file(source.path).stream() : source;
      const have = options.expectedDigest && this.world.layers.get(options.expectedDigest);
      if (have) {
        await stream.cancel();
        return have.info;
      }
      const bytes = await new Response(stream).bytes();
      options.onProgress?.(bytes.length);
      const tar = unpacked(bytes);
      checkWhole(tar);
      const digest = digestOf(tar);
      if (options.expectedDigest !== undefined && options.expectedDigest !== digest) {
        throw new AppError("data_loss", `The layer is ${digest}, not ${options.expectedDigest}`, { reason: "bad_digest" });
      }
      return this.keep(tar, options);
    });
  }

  commit(handle: SandboxHandle, options: CommitOptions): Promise<LayerInfo> {
    return this.world.faults.around("commit", options.signal, async () => {
      options.signal.throwIfAborted();
      const sandbox = this.sandboxes.find(handle);
      if (sandbox.phase === "running" && !sandbox.frozen) {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} runs; freeze it first`, { reason: "sandbox_running" });
      }
      const out = (options.leaveOut ?? []).map((path) => withoutTrailing(path.replace(/^\/+/, ""), "/"));
      return this.keep(tarOf(sandbox.files, out), options);
    });
  }

  /** A layer of these files. */
  layerOf(files: ReadonlyMap<string, string>, options: MakeLayerOptions): LayerInfo {
    options.signal.throwIfAborted();
    return this.keep(tarOf(files, []), options);
  }

  mergeLayers(digests: readonly string[], options: MakeLayerOptions): Promise<LayerInfo> {
    return this.world.faults.around("mergeLayers", options.signal, async () => {
      options.signal.throwIfAborted();
      // Without the two zero blocks that end each; nobody looks inside a fake layer.
      const tars = digests.map((digest) => this.known(digest).tar.slice(0, -1024));
      return this.keep(new Uint8Array(Buffer.concat([...tars, new Uint8Array(1024)])), options);
    });
  }

  exportLayer(digest: string, options: { readonly signal: AbortSignal }): Promise<ReadableStream<Uint8Array>> {
    return this.world.faults.around("exportLayer", options.signal, async () => {
      options.signal.throwIfAborted();
      return new Response(this.known(digest).tar).body as ReadableStream<Uint8Array>;
    });
  }

  async changedPaths(digest: string, paths: readonly string[]): Promise<readonly string[]> {
    const names = namesIn(this.known(digest).tar);
    // A fake layer says nothing of the kinds of files on the way, so that it seems to change a little more than it does.
    return paths.filter((path) => {
      const wanted = path.split("/").filter((part) => part !== "");
      return names.some((name) => isOnTheWay(name, wanted));
    });
  }

  private keep(tar: Uint8Array<ArrayBuffer>, { maxBytes = DEFAULT_MAX_LAYER_BYTES }: MakeLayerOptions): LayerInfo {
    if (tar.length > maxBytes) throw new AppError("resource_exhausted", "The layer is too large", { reason: "layer_too_large" });
    const digest = digestOf(tar);
    const info = this.world.layers.get(digest)?.info ?? { digest, sizeBytes: tar.length, createdAt: Date.now() };
    this.world.layers.set(digest, { info, tar });
    return info;
  }
}

function tarOf(from: ReadonlyMap<string, string>, out: readonly string[]): Uint8Array<ArrayBuffer> {
  const files = [...from].sort().map(([path, text]) => ({ path: path.replace(/^\/+/, ""), text }));
  return makeTar(files.filter(({ path }) => !out.some((left) => path === left || path.startsWith(`${left}/`))));
}

/** The parts of the names in a tar that `makeTar` made. */
function namesIn(tar: Uint8Array): string[][] {
  const bytes = Buffer.from(tar);
  const names: string[][] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 136), 8) || 0;
    const name = bytes.toString("utf8", at, at + 100).split("\0", 1)[0] ?? "";
    if (name !== "" && bytes[at + 156] !== 0x35) names.push(name.split("/").filter((part) => part !== "" && part !== "."));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return names;
}

/** True for a file at or below the path, and for one on the way to it. */
function isOnTheWay(name: readonly string[], wanted: readonly string[]): boolean {
  return name.slice(0, wanted.length).every((part, i) => part.replace(/^\.wh\./, "") === wanted[i]);
}

function unpacked(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return new Uint8Array(Bun.gunzipSync(bytes));
  if (bytes[0] === 0x28 && bytes[1] === 0xb5) return new Uint8Array(Bun.zstdDecompressSync(bytes));
  return bytes;
}

/** Checks only the length of a tar: fake layers are never unpacked. */
function checkWhole(tar: Uint8Array): void {
  if (tar.length < 512 || tar.length % 512 !== 0) {
    throw new AppError("invalid_argument", "The layer's tar is cut off", { reason: "bad_layer" });
  }
}
