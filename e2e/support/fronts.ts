import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, readTestConfig, runProgram } from "@boxyard/testkit";
import { block } from "./documents.ts";

/** Fronts of Debian's, unpacked and not installed: an installed one would be a service of the machine. */
const PROGRAMS = { caddy: "usr/bin/caddy", nginx: "usr/sbin/nginx" } as const;
export type FrontName = keyof typeof PROGRAMS;

/** Path of a front's program, downloaded once into the cache. */
async function programOf(name: FrontName): Promise<string> {
  const directory = join(readTestConfig().cacheDir, "fronts", name);
  const program = join(directory, PROGRAMS[name]);
  if (existsSync(program)) return program;
  const unfinished = `${directory}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  try {
    const script = `apt-get download -q ${name} || { apt-get update -q && apt-get download -q ${name}; }; dpkg -x ${name}_*.deb .; rm ${name}_*.deb`;
    const ended = await runProgram(["sh", "-ec", script], { cwd: unfinished, env: readTestConfig().env, limitMs: 240_000 });
    if (ended.exitCode !== 0) throw new Error(`Debian's ${name} could not be downloaded:\n${ended.stdout}${ended.stderr}`);
    renameSync(unfinished, directory);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return program;
}

/** The block of docs/production.md in this language, with replacements of which each must be there. */
function settingsOf(language: string, replacements: readonly (readonly [string | RegExp, string])[]): string {
  let text = block("docs/production.md", language);
  for (const [part, other] of replacements) {
    const replaced = text.replace(part, other);
    if (replaced === text) throw new Error(`the ${language} block of docs/production.md does not say ${part}`);
    text = replaced;
  }
  return text;
}

/** A certificate authority, and a certificate of its making for both names of the document. */
export class Authority {
  readonly directory = mkdtempSync(join(tmpdir(), "boxyard-front-"));
  readonly ca = join(this.directory, "ca.pem");
  readonly certificate = join(this.directory, "leaf.pem");
  readonly key = join(this.directory, "leaf.key");

  async make(): Promise<void> {
    const script = `
      openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj "/CN=Boxyard's test" -days 2 \
        -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
      openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout leaf.key -out leaf.csr -subj /CN=boxyard.example
      printf 'subjectAltName=DNS:api.boxyard.example,DNS:*.boxyard.example\\nextendedKeyUsage=serverAuth\\n' >leaf.ext
      openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out leaf.pem -days 2 -extfile leaf.ext`;
    const ended = await runProgram(["sh", "-ec", script], { cwd: this.directory });
    if (ended.exitCode !== 0) throw new Error(ended.stderr);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/** Command line and settings of a front, from the document's text. */
function commandOf(name: FrontName, program: string, { port, upstream, authority }: FrontOptions): string[] {
  const { directory, certificate, key } = authority;
  const file = join(directory, `${name}.conf`);
  const to = ["127.0.0.1:3000", upstream] as const;
  if (name === "caddy") {
    const settings = settingsOf("caddyfile", [[/tls \{[\s\S]*?\n {4}\}/, `tls ${certificate} ${key}`], to]);
    const own = `{\n  https_port ${port}\n  auto_https disable_redirects\n  admin off\n  storage file_system ${directory}/caddy\n}\n`;
    writeFileSync(file, own + settings);
    return [program, "run", "--adapter", "caddyfile", "--config", file];
  }
  const settings = settingsOf("nginx", [
    ["listen 443 ", `listen 127.0.0.1:${port} `],
    [/ssl_certificate +\S+;/, `ssl_certificate ${certificate};`],
    [/ssl_certificate_key +\S+;/, `ssl_certificate_key ${key};`],
    to,
  ]);
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((kind) => `${kind}_temp_path ${directory}/${kind};`).join(" ");
  const around = `user root; daemon off; worker_processes 1; pid ${directory}/nginx.pid; error_log stderr;\nevents {}\n`;
  writeFileSync(file, `${around}http { access_log off; ${kinds}\n${settings}}\n`);
  return [program, "-e", "stderr", "-c", file];
}

export interface FrontOptions {
  readonly port: number;
  /** HOST:PORT of the server. */
  readonly upstream: string;
  readonly authority: Authority;
}

/** Runs a front with the settings that docs/production.md gives, but for addresses and certificate. */
export async function startFront(name: FrontName, options: FrontOptions): Promise<AsyncDisposable> {
  const argv = commandOf(name, await programOf(name), options);
  const child = Bun.spawn(argv, { stdout: "ignore", stderr: "pipe", env: { PATH: "/usr/bin:/bin", HOME: options.authority.directory } });
  const said = new Response(child.stderr).text();
  const stop = async () => {
    child.kill("SIGTERM");
    await child.exited;
  };
  try {
    await eventually(`${name} answers`, async () => {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${await said}`);
      const url = `https://api.boxyard.example:${options.port}/health`;
      const ended = await runProgram([
        "curl",
        "-s",
        "--noproxy",
        "*",
        "--resolve",
        `api.boxyard.example:${options.port}:127.0.0.1`,
        "--cacert",
        options.authority.ca,
        url,
      ]);
      return ended.stdout === "Health check successful";
    });
  } catch (error) {
    await stop();
    throw Object.assign(error as Error, { message: `${(error as Error).message}\n${await said}` });
  }
  return { [Symbol.asyncDispose]: stop };
}
