import { afterAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { baseTarName } from "@boxyard/driver-local/setup";
import { CHECKOUT, eventually, lacks, type ProgramOptions, readTestConfig, runProgram } from "@boxyard/testkit";
import { startRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { block as blockOf } from "../support/documents.ts";
import { pushGoImages } from "../support/go-images.ts";
import { pythonClient } from "../support/published.ts";
import { pushBigLayer } from "../support/push-image.ts";

/*
 * A new user's walk: a fresh clone, the README from top to bottom, a project in TypeScript and one in Python outside of the checkout, and
 * Dockerfiles that were written for Docker. Every command and program is copied out of the documents. The registry on loopback stands for
 * Docker Hub; its images are our base template under their names.
 */
const config = readTestConfig();
const work = mkdtempSync(join(tmpdir(), "boxyard-walk-"));
const clone = join(work, "boxyard");
const data = `${config.dataDir}-walk`;
const registry = await startRegistry();
const env = {
  ...config.env,
  BOXYARD_DATA: data,
  BOXYARD_CACHE: config.cacheDir,
  BOXYARD_LISTEN: "127.0.0.1:0",
  // Nobody claims the range between the uninstall and the restore, so another platform could choose it: this range is tried last.
  BOXYARD_NETWORK: "198.18.0.0/16",
  BOXYARD_REGISTRY: `${registry.host}/library`,
  BOXYARD_PRIVATE_REGISTRIES: `http://${registry.host}`,
};
/** What `eval "$(./boxyard env)"` sets in a shell. */
let clientEnv: Record<string, string> = {};

afterAll(async () => {
  if (existsSync(data)) await sh("./boxyard uninstall --yes").catch(() => {});
  await registry[Symbol.asyncDispose]();
  rmSync(work, { recursive: true, force: true });
}, 120_000);

/** Runs a command of a document in the clone, as a person pastes it; throws with what it said when it fails. */
async function sh(command: string, options: ProgramOptions = {}): Promise<string> {
  const ended = await runProgram(["bash", "-ec", command], { cwd: clone, limitMs: 400_000, ...options, env: { ...env, ...options.env } });
  if (ended.exitCode !== 0) throw new Error(`${command}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

/** A block of a document of the clone. */
const block = (language: string, part: string, document = "README.md") => blockOf(document, language, part, clone);

function project(name: string, files: Readonly<Record<string, string>>): string {
  const directory = join(work, name);
  mkdirSync(directory, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
  return directory;
}

test("a fresh clone runs the README's first command", async () => {
  await sh(`git clone --quiet ${CHECKOUT} ${clone}`, { cwd: work });
  expect(await sh(block("sh", "./boxyard run"))).toBe("42\n");
  const printed = await sh(`${block("sh", "boxyard env")}env -0`);
  const set = printed.split("\0").map((pair): [string, string] => [pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]);
  clientEnv = Object.fromEntries(set.filter(([name]) => /^(BOXYARD|E2B)_(API|SANDBOX|DOMAIN)/.test(name)));
  expect(Object.keys(clientEnv).length).toBeGreaterThanOrEqual(6);
}, 420_000);

test("the README's program runs in an empty TypeScript project, and in an empty Python one", async () => {
  const install = block("sh", "npm install").replace("http://127.0.0.1:3000", clientEnv.BOXYARD_API_URL ?? "");
  const program = block("ts", "@boxyard/sdk");
  const cwd = project("typescript", { "package.json": '{ "type": "module" }', "hello.mjs": program, "hello.ts": program });
  await sh(install, { cwd, env: clientEnv });
  const said = "written from outside\nLinux\n\n";
  expect(await sh("node hello.mjs", { cwd, env: clientEnv })).toBe(said);
  const compile = `${join(CHECKOUT, "node_modules/.bin/tsc")} --strict --target es2022 --module nodenext --outDir out hello.ts`;
  expect(await sh(`${compile} && node out/hello.js`, { cwd, env: clientEnv })).toBe(said);
  const python = project("python", { "hello.py": block("python", "from e2b import Sandbox") });
  expect(await sh(`${await pythonClient()} hello.py`, { cwd: python, env: clientEnv })).toBe(said);
}, 300_000);

/** Where Debian's registry keeps its repositories. */
const REPOSITORIES = join(registry.directory, "data/docker/registry/v2/repositories/library");
let offered: string | undefined;

/**
 * Puts our base into the registry under an image's name; the next name is given to what is there. Its layer is not compressed: to compress it, as a
 * push does, takes longer than all else of the walk, and no build fetches a layer that its server has.
 */
async function offer(image: string): Promise<void> {
  const to = image.split(":");
  if (offered === undefined) {
    const {
      image: base,
      user,
      workdir,
    } = JSON.parse(readFileSync(join(data, "templates/base.json"), "utf8")) as {
      readonly image: { readonly layers: readonly [string] };
      readonly user: string;
      readonly workdir: string;
    };
    const tar = { path: join(config.cacheDir, baseTarName()), digest: base.layers[0] };
    const target = { ...registry, name: `library/${to[0]}`, tag: `${to[1]}` };
    await pushBigLayer(tar, { User: user, WorkingDir: workdir, Env: [] }, target);
  } else {
    const from = offered.split(":");
    cpSync(join(REPOSITORIES, from[0] ?? ""), join(REPOSITORIES, to[0] ?? ""), { recursive: true });
    const tags = join(REPOSITORIES, to[0] ?? "", "_manifests/tags");
    renameSync(join(tags, from[1] ?? ""), join(tags, to[1] ?? ""));
  }
  offered = image;
}

const FLASK = {
  "requirements.txt": "flask\n",
  "app.py": 'from flask import Flask\napp = Flask(__name__)\n\n@app.get("/")\ndef hello():\n    return "hello from Flask\\n"\n',
  Dockerfile: `FROM python:3.12-slim
WORKDIR /app
COPY requirements.txt .
RUN --mount=type=cache,target=/root/.cache/pip pip install -r requirements.txt
COPY . .
EXPOSE 8000
HEALTHCHECK CMD curl -fs http://localhost:8000/ || exit 1
CMD ["flask", "run", "--host=0.0.0.0", "--port=8000"]
`,
};
const NODE = {
  "package.json": '{ "name": "app", "version": "1.0.0", "scripts": { "start": "node server.js" } }\n',
  "server.js": 'require("http").createServer((_, res) => res.end("hello from Node\\n")).listen(8000);\n',
  Dockerfile: `FROM node:22-slim AS build
WORKDIR /app
COPY package*.json ./
RUN npm install --omit=dev

FROM docker.io/library/node:22-slim
WORKDIR /app
ENV NODE_ENV=production
COPY --from=build /app ./
COPY . .
EXPOSE 8000
USER user
CMD ["npm", "start"]
`,
};

test.each([
  ["flask", "python:3.12-slim", FLASK, "hello from Flask\n"],
  ["node", "node:22-slim", NODE, "hello from Node\n"],
] as const)(
  "a %s project's Dockerfile for Docker makes a template that serves",
  async (name, image, files, said) => {
    await offer(image);
    const directory = project(name, files);
    await sh(`./boxyard template build walk-${name} ${directory} --ready-cmd 'curl -fs http://localhost:8000/'`);
    expect(await sh(`./boxyard run -t walk-${name} -- curl -fs http://localhost:8000/`)).toBe(said);
  },
  400_000,
);

const GO = {
  "go.mod": "module example.com/app\n\ngo 1.21\n",
  "main.go": `package main

import "syscall"

const answer = "HTTP/1.1 200 OK\\r\\nContent-Length: 14\\r\\nConnection: close\\r\\n\\r\\nhello from Go\\n"

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func serve(connection int) {
	defer syscall.Close(connection)
	piece := make([]byte, 4096)
	for request := ""; len(request) < 4 || request[len(request)-4:] != "\\r\\n\\r\\n"; {
		count, err := syscall.Read(connection, piece)
		if err != nil || count == 0 {
			return
		}
		request += string(piece[:count])
	}
	syscall.Write(connection, []byte(answer))
}

// Of net and net/http nothing is needed, and they take longer to compile than all else.
func main() {
	listener, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	check(err)
	check(syscall.Bind(listener, &syscall.SockaddrInet4{Port: 8000}))
	check(syscall.Listen(listener, 64))
	for {
		connection, _, err := syscall.Accept(listener)
		check(err)
		go serve(connection)
	}
}
`,
  Dockerfile: `FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod ./
RUN go mod download
COPY . .
RUN --mount=type=cache,target=/root/.cache/go-build CGO_ENABLED=0 go build -trimpath -o /out/app .

FROM alpine:3.22
COPY --from=build /out/app /usr/local/bin/app
EXPOSE 8000
USER nobody
CMD ["app"]
`,
};

test.skipIf(lacks("go"))(
  "a Go project's Dockerfile for Docker makes a template that serves",
  async () => {
    const directory = project("go", GO);
    await pushGoImages({ host: registry.host, module: directory, env: config.env });
    const ask = "wget -q -O - http://localhost:8000/";
    await sh(`./boxyard template build walk-go ${directory} --ready-cmd '${ask}'`);
    // Busybox's wget has once met "Connection reset by peer" after the answer: each try is a sandbox of its own.
    await eventually(
      "the program answers",
      async () => (await sh(`./boxyard run -t walk-go -- ${ask}`).catch(() => "")) === "hello from Go\n",
      { withinMs: 120_000 },
    );
  },
  400_000,
);

/** What `tar` packs and unpacks with: it only marks what it has packed, since compressing the pool takes longer than all else of a backup. */
const QUICK_GZIP = `#!/bin/sh
case "$*" in
  *-d*) read -r mark && [ "$mark" = packed ] || exit 1 ;;
  *) echo packed ;;
esac
exec cat
`;

test("a backup as docs/production.md makes it brings templates, keys and a paused sandbox back after an uninstall", async () => {
  const bin = join(work, "bin");
  mkdirSync(bin);
  symlinkSync(join(clone, "boxyard"), join(bin, "boxyard"));
  writeFileSync(join(bin, "gzip"), QUICK_GZIP, { mode: 0o755 });
  const paths = { PATH: `${bin}:${config.env.PATH}` };
  const written = (part: string) => block("sh", part, "docs/production.md").replaceAll("/var/lib/boxyard", data);
  const typed = (command: string) => sh(command, { cwd: work, env: paths });
  const id = (await typed("boxyard sandbox create")).trim();
  await typed(`boxyard exec ${id} -- sh -c 'echo kept > kept.txt' && boxyard sandbox pause ${id}`);
  const [, ...whileDown] = written("tar --sparse --exclude").split("\n");
  await typed(`${written("umount")}${whileDown.join("\n")}`);
  await typed("boxyard uninstall --yes");
  expect(existsSync(data)).toBe(false);
  await typed(written("-xzf"));
  expect(await typed("boxyard run -t walk-node -- curl -fs http://localhost:8000/")).toBe("hello from Node\n");
  expect(await typed(`boxyard sandbox resume ${id} && boxyard exec ${id} -- cat kept.txt`)).toEndWith("kept\n");
}, 400_000);

test("uninstall leaves nothing of it", async () => {
  await sh("./boxyard uninstall --yes");
  expect(existsSync(data)).toBe(false);
}, 120_000);
