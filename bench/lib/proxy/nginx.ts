import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@boxyard/testkit";

/** nginx in front of the same upstream, with kept connections to it and one worker; undefined where it is not installed. */
export async function nginx(upstreamPort: number): Promise<(AsyncDisposable & { port: number; pid: number }) | undefined> {
  const binary = Bun.which("nginx", { PATH: "/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin" });
  if (!binary) return undefined;
  const directory = await mkdtemp(join(tmpdir(), "boxyard-nginx-"));
  const port = await freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${directory}/${name};`).join(" ");
  await writeFile(
    join(directory, "nginx.conf"),
    `worker_processes 1; daemon off; master_process off; pid ${directory}/pid; error_log ${directory}/error.log;
     events { worker_connections 4096; }
     http { access_log off; ${temporary}
       upstream sandbox { server 127.0.0.1:${upstreamPort}; keepalive 64; keepalive_requests 10000000; }
       server { listen 127.0.0.1:${port}; keepalive_requests 10000000;
         location / { proxy_pass http://sandbox; proxy_http_version 1.1; proxy_set_header Connection ""; } } }`,
  );
  const child = Bun.spawn([binary, "-c", join(directory, "nginx.conf"), "-p", directory], { stdout: "ignore", stderr: "ignore" });
  await Bun.sleep(500);
  return {
    port,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
