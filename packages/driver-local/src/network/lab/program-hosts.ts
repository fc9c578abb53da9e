import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";

/** For tests: a git server, a Python index and an npm registry, each of which wants the token; and a host that shows what it was asked. */

export const HOSTS = { git: "git.example", pip: "pip.example", npm: "npm.example", api: "api.example" } as const;

const basic = (token: string) => `Basic ${btoa(`me:${token}`)}`;

function refusal(request: Request, expected: string): Response | undefined {
  if (request.headers.get("authorization") === expected) return undefined;
  return new Response("who are you?", { status: 401, headers: { "www-authenticate": 'Basic realm="lab"' } });
}

/** Makes what the servers serve below `directory`. */
export async function makePackages(directory: string): Promise<void> {
  const run = async (command: string) => {
    const child = Bun.spawn(["sh", "-ec", command], { cwd: directory, stdout: "ignore", stderr: "pipe" });
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
  };
  mkdirSync(`${directory}/package`, { recursive: true });
  writeFileSync(`${directory}/package/package.json`, JSON.stringify({ name: "tiny", version: "1.0.0", main: "index.js" }));
  writeFileSync(`${directory}/package/index.js`, 'module.exports = "tiny of npm";\n');
  await run("tar czf tiny-1.0.0.tgz package");
  const wheel = `import zipfile
with zipfile.ZipFile("tiny-1.0.0-py3-none-any.whl", "w") as z:
  z.writestr("tiny.py", "WORD = 'tiny of pip'\\n")
  z.writestr("tiny-1.0.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0.0\\n")
  z.writestr("tiny-1.0.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nGenerator: lab\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
  z.writestr("tiny-1.0.0.dist-info/RECORD", "tiny.py,,\\ntiny-1.0.0.dist-info/METADATA,,\\ntiny-1.0.0.dist-info/WHEEL,,\\ntiny-1.0.0.dist-info/RECORD,,\\n")`;
  writeFileSync(`${directory}/wheel.py`, wheel);
  await run("python3 wheel.py");
  const author = "-c user.name=lab -c user.email=lab@lab.example";
  await run(
    `git init -q work; cd work; echo first > file; git add file; git ${author} commit -qm first; cd ..; git clone -q --bare work repo.git; git -C repo.git config http.receivepack true`,
  );
}

/** Answers requests to all hosts of `HOSTS`. */
export const serveHosts =
  (directory: string, token: string) =>
  async (request: Request, server: Bun.Server<undefined>): Promise<Response | undefined> => {
    const url = new URL(request.url);
    switch (request.headers.get("host")) {
      case HOSTS.git:
        return refusal(request, basic(token)) ?? git(directory, request, url);
      case HOSTS.pip:
        return refusal(request, basic(token)) ?? index(directory, url);
      case HOSTS.npm:
        return refusal(request, `Bearer ${token}`) ?? registry(directory, url);
    }
    if (url.pathname === "/socket" && server.upgrade(request, { data: undefined })) return undefined;
    if (url.pathname === "/upload") return new Response(`${(await request.arrayBuffer()).byteLength}`);
    const told = `${request.headers.get("authorization")}\n`;
    if (url.pathname === "/stream") return new Response(new Blob([told]).stream());
    return new Response(told);
  };

/** git's own server of smart HTTP, a program of CGI. */
async function git(directory: string, request: Request, url: URL): Promise<Response> {
  const field = (name: string) => request.headers.get(name) ?? "";
  const variables = {
    ...{ GIT_PROJECT_ROOT: directory, GIT_HTTP_EXPORT_ALL: "1", REMOTE_USER: "me", REMOTE_ADDR: "lab" },
    ...{ PATH_INFO: url.pathname, QUERY_STRING: url.search.slice(1), REQUEST_METHOD: request.method },
    ...{ CONTENT_TYPE: field("content-type"), HTTP_CONTENT_ENCODING: field("content-encoding"), GIT_PROTOCOL: field("git-protocol") },
    // What the machine says about the owners of directories is not of this test.
    ...{ GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "safe.directory", GIT_CONFIG_VALUE_0: "*" },
  };
  const set = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const child = Bun.spawn(["env", ...set, "git", "http-backend"], {
    stdin: new Uint8Array(await request.arrayBuffer()),
    stdout: "pipe",
  });
  const answer = Buffer.from(await new Response(child.stdout).arrayBuffer());
  const end = answer.indexOf("\r\n\r\n");
  const fields = answer
    .toString("latin1", 0, end)
    .split("\r\n")
    .map((line) => line.split(": ") as [string, string]);
  const status = Number.parseInt(fields.find(([name]) => name === "Status")?.[1] ?? "200", 10);
  return new Response(answer.subarray(end + 4), { status, headers: fields.filter(([name]) => name !== "Status") });
}

function index(directory: string, { pathname }: URL): Response {
  const wheel = "tiny-1.0.0-py3-none-any.whl";
  if (pathname === "/simple/tiny/")
    return new Response(`<a href="/files/${wheel}">${wheel}</a>`, { headers: { "content-type": "text/html" } });
  return pathname === `/files/${wheel}` ? new Response(Bun.file(`${directory}/${wheel}`)) : new Response("no", { status: 404 });
}

async function registry(directory: string, { pathname }: URL): Promise<Response> {
  const bytes = await Bun.file(`${directory}/tiny-1.0.0.tgz`).bytes();
  if (pathname === "/tiny/-/tiny-1.0.0.tgz") return new Response(bytes);
  if (pathname !== "/tiny") return Response.json({ error: "no" }, { status: 404 });
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
  const dist = { tarball: `https://${HOSTS.npm}/tiny/-/tiny-1.0.0.tgz`, integrity };
  const versions = { "1.0.0": { name: "tiny", version: "1.0.0", main: "index.js", dist } };
  return Response.json({ name: "tiny", "dist-tags": { latest: "1.0.0" }, versions });
}
