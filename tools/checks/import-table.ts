/**
 * The packages that each package may import (`*`: all). ARCHITECTURE.md shows this table.
 */
export const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  spec: [],
  core: [],
  driver: ["core"],
  "driver-local": ["core", "driver"],
  "driver-kubernetes": ["core", "driver"],
  agent: ["core", "spec"],
  "agent-client": ["core", "spec", "driver"],
  http1: ["core"],
  "egress-proxy": ["core", "driver", "http1"],
  server: ["core", "spec", "driver", "agent-client", "http1", "mcp"],
  sdk: ["spec"],
  mcp: ["sdk"],
  cli: ["sdk", "core", "mcp"],
  dashboard: ["sdk", "spec"],
  testkit: ["*"],
};

/** Files that may import more than their package, each with the reason. */
export const MAY_ALSO: readonly { readonly file: RegExp; readonly imports: readonly string[]; readonly because: string }[] = [
  {
    file: /^packages\/server\/src\/local-machine\.ts$/,
    imports: ["driver-local"],
    because: "only this file and cluster-machine.ts choose a concrete driver",
  },
  {
    file: /^packages\/server\/src\/cluster-machine\.ts$/,
    imports: ["driver-kubernetes"],
    because: "only this file and local-machine.ts choose a concrete driver",
  },
  { file: /\.test\.ts$|\/testing\//, imports: ["testkit", "spec"], because: "tests use the test kit and the names of the protocols" },
];

export interface TextRule {
  readonly name: string;
  readonly files: RegExp;
  readonly except?: RegExp;
  readonly forbidden: RegExp;
  readonly because: string;
}

/** Files that need not run on every runtime: parts for Node (the SDK's template builder reads files, its connections of TCP are sockets), tests, and scripts that write generated files. */
const NOT_NEUTRAL =
  /^packages\/core\/src\/node\/|^packages\/sdk\/src\/(template|tcp|testing|publish)\/|(^|\/)write-[^/]+\.ts$|\.test\.tsx?$/;

const PACKAGE_CODE = /^packages\/[^/]+\/src\/.*\.tsx?$/;
const TESTS = /\.test\.tsx?$|\/fixtures\//;

/** Patterns that the code of some files must not contain. Comments and strings are not searched. */
export const TEXT_RULES: readonly TextRule[] = [
  {
    name: "environment",
    files: /^(packages\/[^/]+\/src|tools|e2e|bench)\/.*\.tsx?$/,
    except: /(^|\/)(config|main)\.ts$|\.test\.tsx?$|\/fixtures\/|(^|\/)config\/[^/]+\.ts$/,
    forbidden: /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/,
    because: "only a config.ts reads the environment (a main.ts may pass it on)",
  },
  {
    name: "exit",
    files: PACKAGE_CODE,
    except: /(^|\/)main\.ts$|\.test\.tsx?$|\/fixtures\//,
    forbidden: /\bprocess\.(exit|abort|reallyExit)\b/,
    because: "only a main.ts ends the process",
  },
  {
    name: "neutral",
    files: /^packages\/(core|spec|sdk)\/src\/.*\.tsx?$/,
    except: NOT_NEUTRAL,
    forbidden: /\bBun\.|\bprocess\.(?!env\b)|\bBuffer\b|\b__dirname\b/,
    because: "this part also runs in browsers, on Node and on Deno",
  },
  {
    name: "own files",
    files: /^packages\/(core|driver|driver-local|server|cli)\/src\/.*\.tsx?$/,
    except:
      /\.test\.tsx?$|\/(fixtures|testing|lab)\/|\/(setup\/(checkout|resources)|worker\/spawn|egress-proxy\/program|server-control\/(self-command|outdated)|template\/recipe|src\/build-id)\.ts$/,
    forbidden: /\bimport\.meta\.(dir|dirname|path|filename|url)\b/,
    because: "the directory of the single executable has no other files; docs/dist.md says what to do instead",
  },
  {
    name: "one binding",
    files: /^(packages\/[^/]+\/src|tools|e2e|bench)\/.*\.tsx?$/,
    except: /^packages\/core\/src\/node\/libc\.ts$/,
    forbidden: /\bdlopen\b/,
    because: "functions of libc are declared in one table, core's node/libc.ts: add the function there",
  },
  {
    name: "machine code",
    files: PACKAGE_CODE,
    forbidden: /\bcc\b/,
    because: "the server compiles no C at run time (`cc` of bun:ffi); what needs C is a helper that set-up compiles, as native/fork-server",
  },
];

export interface ImportRule {
  readonly name: string;
  readonly files: RegExp;
  readonly except?: RegExp;
  /** Matched against a relative import's path in the checkout, or against the name of anything else. */
  readonly forbidden: RegExp;
  readonly because: string;
}

export const IMPORT_RULES: readonly ImportRule[] = [
  {
    name: "http1 alone",
    files: /^packages\/http1\/src\//,
    except: TESTS,
    forbidden: /^@boxyard\/core$|^@boxyard\/core\/(?!libc$)/,
    because: "of the other packages http1 uses only the table of libc's functions",
  },
  {
    name: "light command",
    files: /^packages\/cli\/src\//,
    except: TESTS,
    forbidden: /^@boxyard\/core\/node$/,
    because: "it loads the logger, which costs each command 25 ms of CPU time: import a part of it by its own name",
  },
  {
    name: "neutral",
    files: /^packages\/(core|spec|sdk)\/src\//,
    except: NOT_NEUTRAL,
    forbidden: /^(node|bun):|^bun$|^(fs|path|os|net|http|https|child_process|stream|crypto|util|url|events|tls|zlib|buffer)(\/|$)/,
    because: "this part also runs in browsers, on Node and on Deno",
  },
  {
    name: "neutral entry",
    files: /^packages\/(core|sdk)\/src\//,
    except: NOT_NEUTRAL,
    forbidden: /^packages\/(core|sdk)\/src\/(node|template|tcp|testing|publish)\//,
    because: "the parts for Node have separate entries, so that a bundle for browsers does not contain them",
  },
  {
    name: "services",
    files: /^packages\/server\/src\/(sandboxes|templates|store|proxy)\//,
    except: TESTS,
    forbidden: /^packages\/server\/src\/http\//,
    because: "handlers import services; services never import handlers",
  },
  {
    name: "settings",
    files: /^packages\/server\/src\/config\.ts$/,
    forbidden: /^packages\/server\/src\/[^/]+\//,
    because: "domains know the settings; the settings know no domain",
  },
  {
    name: "ports of sandboxes",
    files: /^packages\/server\/src\/sandboxes\//,
    except: TESTS,
    forbidden: /^packages\/server\/src\/templates\//,
    because: "sandboxes/ports.ts says what sandboxes need of templates; context.ts brings the two together",
  },
  {
    name: "ports of templates",
    files: /^packages\/server\/src\/templates\//,
    except: TESTS,
    forbidden: /^packages\/server\/src\/sandboxes\/(?!ports\.ts$)/,
    because: "templates/builds/ports.ts says what builds need of sandboxes; context.ts brings the two together",
  },
  {
    name: "engine",
    files: /^packages\/server\/src\/sandboxes\/engine\//,
    except: TESTS,
    forbidden: /^packages\/server\/src\/sandboxes\/(?:transitions|create|upkeep|snapshots)\//,
    because:
      "the engine runs transitions and knows none by name; those that it begins by itself are given to it (engine/own-transitions.ts)",
  },
  {
    name: "agent services",
    files: /^packages\/agent\/src\/(process|pty|files|cgroup|metrics)\//,
    except: /\.test\.tsx?$|\/fixtures\/|^packages\/agent\/src\/\w+\/(http|rpc)\//,
    forbidden: /^packages\/agent\/src\/(http|rpc)\//,
    because: "handlers import services; services never import handlers",
  },
  {
    name: "steps",
    files: /^packages\/driver-local\/src\/steps\/(?!index\.ts)/,
    except: TESTS,
    forbidden: /^packages\/driver-local\/src\/steps\/(?!context\.ts|types\.ts)/,
    because: "steps never import each other; steps/index.ts lists them in their order",
  },
];
