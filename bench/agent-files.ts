/*
 * Promises 7 and 8 at the agent itself, without a proxy: composing 4 x 256 MiB against `cat` and `cp --reflink`, and 1 GiB up and down
 * against a bare `Bun.serve`. Starts an agent of its own on a btrfs loop file below an overlay, as in a sandbox. Needs root and curl.
 * Prints JSON: `bun bench/agent-files.ts`.
 */
import { type AgentUnderTest, startAgent } from "../e2e/agent/support/agent-under-test.ts";
import { AGENT_PID, asRoot, postCompose } from "../e2e/agent/support/files.ts";
import { machine } from "./lib/machine.ts";
import { type Summary, summarize } from "./lib/stats.ts";

const MIB = 1024 * 1024;
const ROUNDS = 5;
const PREPARE = `
  pool=$(mktemp) && truncate -s 8G $pool && mkfs.btrfs -q -f $pool >/dev/null 2>&1 && mkdir /home/btrfs && mount -o loop $pool /home/btrfs && rm $pool
  mkdir /home/btrfs/upper /home/btrfs/work /home/btrfs/lower /home/overlay
  mount -t overlay overlay -o lowerdir=/home/btrfs/lower,upperdir=/home/btrfs/upper,workdir=/home/btrfs/work /home/overlay
`;

const round = (value: number) => Math.round(value * 10) / 10;

/** Milliseconds of a shell command, measured inside, without the time to start the shell. */
async function shellMs(agent: AgentUnderTest, command: string): Promise<number> {
  return Number(await asRoot(agent, `s=$(date +%s%N); ${command}; e=$(date +%s%N); echo $(( (e - s) / 1000 ))`)) / 1000;
}

async function benchCompose(agent: AgentUnderTest) {
  const parts = [1, 2, 3, 4].map((i) => `/home/overlay/p${i}`);
  // `cat` and `cp` of newer coreutils share extents by themselves where they can; a pipe makes them copy.
  const copying = `cat ${parts.join(" ")} | cat > /home/overlay/cat`;
  const make = `head -c ${256 * MIB} /dev/urandom > ${parts[0]}; for p in ${parts.slice(1).join(" ")}; do cat ${parts[0]} | cat > $p; done`;
  const ours: number[] = [];
  const unwritten: number[] = [];
  const cat: number[] = [];
  const reflink: number[] = [];
  const blocks: number[] = [];
  const used = async () =>
    Number(await asRoot(agent, "sync -f /home/btrfs; btrfs filesystem usage -b /home/btrfs | awk '/^ *Used:/{print $2; exit}'"));
  const compose = async () => {
    const started = performance.now();
    const response = await postCompose(agent, { source_paths: parts, destination: "/home/overlay/whole" });
    if (response.status !== 200) throw new Error(await response.text());
    return performance.now() - started;
  };
  for (let i = 0; i < ROUNDS; i++) {
    await asRoot(agent, `${make}; sync -f /home/btrfs`);
    cat.push(await shellMs(agent, copying));
    await asRoot(agent, "sync -f /home/btrfs");
    reflink.push(await shellMs(agent, "cp --reflink=always /home/overlay/cat /home/overlay/reflink"));
    await asRoot(agent, "rm /home/overlay/cat /home/overlay/reflink");
    const before = await used();
    ours.push(await compose());
    blocks.push((await used()) - before);
    await asRoot(agent, `rm /home/overlay/whole; ${make}`);
    unwritten.push(await compose());
    await asRoot(agent, "rm /home/overlay/whole");
  }
  const [mine, other] = [summarize(ours), summarize(cat)];
  return {
    compose4x256MiB: mine,
    sourcesNotYetOnDisk: summarize(unwritten),
    cat: other,
    cpReflink1GiB: summarize(reflink),
    newBytesOnDisk: Math.max(...blocks),
    catOverCompose: round(other.p50 / mine.p50),
    kept: mine.p50 <= 20 && other.p50 / mine.p50 >= 50 && Math.max(...blocks) < MIB,
  };
}

async function curlMs(args: readonly string[]): Promise<number> {
  const child = Bun.spawn(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{time_total}", ...args], { stdout: "pipe" });
  const [status, seconds] = (await new Response(child.stdout).text()).split(" ");
  if (status !== "200") throw new Error(`curl ${args.join(" ")}: ${status}`);
  return Number(seconds) * 1000;
}

/** The least a Bun server can do: the body to a file, a file as the body. */
function bareServer(folder: string) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    async fetch(request) {
      if (request.method === "GET") return new Response(Bun.file(`${folder}/bare`));
      await Bun.write(`${folder}/bare`, new Response(request.body));
      return new Response("ok");
    },
  });
}

async function benchTransfer(agent: AgentUnderTest, folder: string) {
  const bytes = 1024 * MIB;
  await Bun.spawn(["truncate", "-s", String(bytes), `${folder}/source`]).exited;
  const bare = bareServer(folder);
  const token = ["-H", `X-Access-Token: ${agent.token}`];
  const raw = ["-X", "POST", "-H", "Expect:", "-H", "Content-Type: application/octet-stream", "-T", `${folder}/source`];
  const url = `${agent.baseUrl}/files?path=${folder}/ours&username=root`;
  const series: Record<string, number[]> = { upload: [], uploadForm: [], bareUpload: [], download: [], bareDownload: [] };
  const clean = () => Bun.spawn(["rm", "-f", `${folder}/ours`, `${folder}/bare`]).exited;
  try {
    for (let i = 0; i < ROUNDS; i++) {
      await clean();
      series.bareUpload?.push(await curlMs([...raw, bare.url.href]));
      series.bareDownload?.push(await curlMs([bare.url.href]));
      await clean();
      series.upload?.push(await curlMs([...raw, ...token, url]));
      series.download?.push(await curlMs([...token, url]));
      await clean();
      series.uploadForm?.push(await curlMs(["-H", "Expect:", ...token, "-F", `file=@${folder}/source`, url]));
    }
  } finally {
    await bare.stop(true);
  }
  const summaries = Object.fromEntries(Object.entries(series).map(([name, samples]) => [name, summarize(samples)])) as Record<
    string,
    Summary
  >;
  const share = (ours: string, floor: string) => Math.round((100 * (summaries[floor]?.p50 ?? 0)) / (summaries[ours]?.p50 ?? 1));
  const peak = Number(await asRoot(agent, `${AGENT_PID}; awk '/VmHWM/{print $2}' /proc/$pid/status`));
  return {
    ...summaries,
    percentOfBare: {
      upload: share("upload", "bareUpload"),
      uploadForm: share("uploadForm", "bareUpload"),
      download: share("download", "bareDownload"),
    },
    agentPeakMiB: round(peak / 1024),
  };
}

async function main(): Promise<void> {
  const agent = await startAgent({ prepare: PREPARE });
  const folder = (await Bun.$`mktemp -d`.text()).trim();
  try {
    const transfer1GiB = await benchTransfer(agent, folder);
    console.log(JSON.stringify({ machine: machine(), transfer1GiB, compose: await benchCompose(agent) }, null, 2));
  } finally {
    await agent.stop();
    await Bun.$`rm -rf ${folder}`;
  }
}

await main();
