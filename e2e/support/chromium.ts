import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loopbackNetwork } from "./loopback-network.ts";

/** A browser without a window, that finds no name but this machine's and has nothing to look for by itself. Root cannot have its sandbox. */
const CHROMIUM = [
  "chromium",
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-default-apps",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

/**
 * Runs a script in a page of an origin of its own, and gives what it posts to `/results`. The script gets `options` at `/options` and may post to
 * `/progress` how far it is. The browser reaches the page, and the server at `apiUrl`, and nothing else. Throws when the browser ends or the limit
 * passes before.
 */
export async function runInChromium<T>(
  script: string,
  options: { readonly apiUrl: string; readonly apiKey?: string },
  limitMs: number,
): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<T>();
  let last = "nothing";
  const page = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    routes: {
      "/": new Response('<!doctype html><script type="module" src="/script.js"></script>', { headers: { "Content-Type": "text/html" } }),
      "/script.js": new Response(script, { headers: { "Content-Type": "text/javascript" } }),
      "/options": Response.json({ options }),
      "/progress": async (request) => {
        last = await request.text();
        return new Response();
      },
      "/results": async (request) => {
        resolve((await request.json()) as T);
        return new Response();
      },
    },
    fetch: () => new Response(null, { status: 404 }),
  });
  const profile = mkdtempSync(join(tmpdir(), "boxyard-chromium-"));
  await using network = await loopbackNetwork([Number(page.url.port), Number(new URL(options.apiUrl).port)]);
  const argv = network.command([...CHROMIUM, `--user-data-dir=${profile}`, page.url.href]);
  const browser = Bun.spawn(argv, { stdout: "ignore", stderr: "pipe", env: { PATH: "/usr/bin:/bin", HOME: profile } });
  const said = new Response(browser.stderr).text();
  try {
    const late = Bun.sleep(limitMs).then(() => Promise.reject(new Error(`the page is not done; it finished ${last}`)));
    const gone = browser.exited.then(async () => Promise.reject(new Error(`the browser ended: ${await said}`)));
    return await Promise.race([promise, late, gone]);
  } finally {
    browser.kill();
    await browser.exited;
    await page.stop(true);
    rmSync(profile, { recursive: true, force: true });
  }
}
