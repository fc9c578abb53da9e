import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@boxyard/testkit";

/** A real registry (Debian's `docker-registry`) on loopback, with a directory of its own. */
export interface TestRegistry extends AsyncDisposable {
  /** `127.0.0.1:<port>`. */
  readonly host: string;
  /** Directory in which it keeps its blobs. */
  readonly directory: string;
}

export interface TestRegistryOptions {
  /** Asks for this login on every request. */
  readonly login?: { readonly username: string; readonly password: string };
}

export async function startRegistry({ login }: TestRegistryOptions = {}): Promise<TestRegistry> {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-registry-"));
  const host = `127.0.0.1:${await freePort()}`;
  if (login)
    writeFileSync(
      join(directory, "passwords"),
      `${login.username}:${await Bun.password.hash(login.password, { algorithm: "bcrypt", cost: 4 })}\n`,
    );
  const config = {
    version: "0.1",
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: join(directory, "data") }, delete: { enabled: true } },
    http: { addr: host },
    ...(login && { auth: { htpasswd: { realm: "test", path: join(directory, "passwords") } } }),
  };
  // JSON is YAML.
  writeFileSync(join(directory, "config.yml"), JSON.stringify(config));
  const child = Bun.spawn(["docker-registry", "serve", join(directory, "config.yml")], { stdout: "ignore", stderr: "ignore" });
  const stop = async () => {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(directory, { recursive: true, force: true });
  };
  for (let tries = 0; tries < 200; tries++) {
    const response = await fetch(`http://${host}/v2/`).catch(() => undefined);
    if (response) return { host, directory, [Symbol.asyncDispose]: stop };
    if (child.exitCode !== null) break;
    await Bun.sleep(50);
  }
  await stop();
  throw new Error("docker-registry does not start");
}
