/**
 * What each package may import of the others (`*` after a name: also its subpaths). The table of ARCHITECTURE.md, as the check reads it.
 */
export const IMPORTS: Readonly<Record<string, readonly string[]>> = {
  spec: [],
  core: [],
  driver: ["core"],
  "driver-local": ["core", "driver"],
  agent: ["core", "spec"],
  "agent-client": ["core", "spec", "driver"],
  http1: ["core"],
  server: ["core", "spec", "driver", "agent-client", "http1"],
  sdk: ["spec"],
  cli: ["sdk", "core"],
  testkit: ["*"],
};

/** Files that may import more than their package, each with the reason. */
export const MAY_ALSO: readonly { readonly file: RegExp; readonly imports: readonly string[]; readonly because: string }[] = [
  {
    file: /^packages\/server\/src\/local-machine\.ts$/,
    imports: ["driver-local"],
    because: "the one place that chooses a concrete driver",
  },
  { file: /\.test\.ts$|\/testing\//, imports: ["testkit", "spec"], because: "tests use the test kit and the wire's names" },
];

export interface TextRule {
  readonly name: string;
  readonly files: RegExp;
  readonly except?: RegExp;
  readonly forbidden: RegExp;
  readonly because: string;
}

/** Code that runs anywhere: not the parts for Node (the SDK's template builder reads files), not tests, not the scripts that write generated files. */
const NOT_NEUTRAL = /^packages\/core\/src\/node\/|^packages\/sdk\/src\/(template|testing|publish)\/|(^|\/)write-[^/]+\.ts$|\.test\.tsx?$/;

const PACKAGE_CODE = /^packages\/[^/]+\/src\/.*\.tsx?$/;
const TESTS = /\.test\.tsx?$|\/fixtures\//;

/** What must not stand in the code of some files (comments and strings left out of the search). */
export const TEXT_RULES: readonly TextRule[] = [
  {
    name: "environment",
    files: /^(packages\/[^/]+\/src|tools|e2e|bench)\/.*\.tsx?$/,
    except: /(^|\/)(config|main)\.ts$|\.test\.tsx?$|\/fixtures\/|(^|\/)config\/[^/]+\.ts$/,
    forbidden: /\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/,
    because: "only a config.ts reads the environment (a main.ts may hand it over)",
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
      /\.test\.tsx?$|\/(fixtures|testing|lab)\/|\/(setup\/(checkout|resources)|worker\/spawn|server-control\/(self-command|outdated)|template\/recipe|src\/build-id)\.ts$/,
    forbidden: /\bimport\.meta\.(dir|dirname|path|filename|url)\b/,
    because: "the single executable has no files beside its code; docs/dist.md says what to do instead",
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
    because: "the server compiles no C at run time (`cc` of bun:ffi); what needs C is a helper that set-up compiles, as images/fork-server",
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
    because: "http1 knows of the rest only the table of libc's functions",
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
    forbidden: /^packages\/(core|sdk)\/src\/(node|template|testing|publish)\//,
    because: "the parts for Node are entries of their own, or they would come along into browsers",
  },
  {
    name: "services",
    files: /^packages\/server\/src\/(sandboxes|templates|store|proxy)\//,
    except: TESTS,
    forbidden: /^packages\/server\/src\/http\//,
    because: "handlers call services, services never know of handlers",
  },
  {
    name: "agent services",
    files: /^packages\/agent\/src\/(process|pty|files|cgroup|metrics)\//,
    except: /\.test\.tsx?$|\/fixtures\/|^packages\/agent\/src\/\w+\/(http|rpc)\//,
    forbidden: /^packages\/agent\/src\/(http|rpc)\//,
    because: "handlers call services, services never know of handlers",
  },
  {
    name: "steps",
    files: /^packages\/driver-local\/src\/steps\/(?!index\.ts)/,
    except: TESTS,
    forbidden: /^packages\/driver-local\/src\/steps\/(?!context\.ts|types\.ts)/,
    because: "steps never import each other; the list in steps/index.ts tells the story",
  },
];
