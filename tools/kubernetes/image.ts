import { createHash } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Run } from "./programs.ts";

/** An image with one layer. */
export interface ImageOrder {
  /** `localhost/…:TAG`. */
  readonly name: string;
  /** The directory whose files it has. */
  readonly tree: string;
  readonly entrypoint?: readonly string[];
  /** `UID:GID` of its processes; absent: root. */
  readonly user?: string;
}

const OCI = "application/vnd.oci.image";

/** Packs a directory into an archive that containerd imports (OCI image layout, version 1.0.0). */
export async function packImage({ name, tree, entrypoint, user }: ImageOrder, archive: string, run: Run): Promise<void> {
  const work = `${archive}.work`;
  rmSync(work, { recursive: true, force: true });
  mkdirSync(join(work, "blobs/sha256"), { recursive: true });
  const owners = ["--owner=0", "--group=0", "--numeric-owner", "--sort=name", "--mtime=@0"];
  await run(["tar", ...owners, "-C", tree, "-cf", join(work, "layer"), "."]);
  const bytes = new Uint8Array(await Bun.file(join(work, "layer")).arrayBuffer());
  rmSync(join(work, "layer"));
  const put = (content: Uint8Array | string) => {
    const digest = createHash("sha256").update(content).digest("hex");
    writeFileSync(join(work, "blobs/sha256", digest), content);
    return { digest: `sha256:${digest}`, size: Buffer.byteLength(content) };
  };
  const layer = put(bytes);
  const config = put(
    JSON.stringify({
      architecture: process.arch === "arm64" ? "arm64" : "amd64",
      os: "linux",
      config: { WorkingDir: "/", ...(entrypoint && { Entrypoint: entrypoint }), ...(user && { User: user }) },
      rootfs: { type: "layers", diff_ids: [layer.digest] },
    }),
  );
  const manifest = put(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: `${OCI}.manifest.v1+json`,
      config: { mediaType: `${OCI}.config.v1+json`, ...config },
      layers: [{ mediaType: `${OCI}.layer.v1.tar`, ...layer }],
    }),
  );
  const annotations = { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name };
  const manifests = [{ mediaType: `${OCI}.manifest.v1+json`, ...manifest, annotations }];
  writeFileSync(join(work, "index.json"), JSON.stringify({ schemaVersion: 2, mediaType: `${OCI}.index.v1+json`, manifests }));
  writeFileSync(join(work, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
  await run(["tar", "-C", work, "-cf", archive, "oci-layout", "index.json", "blobs"]);
  rmSync(work, { recursive: true });
}
