import type { AgentUnderTest } from "../../e2e/agent/support/agent-access.ts";
import { startAgent } from "../../e2e/agent/support/agent-under-test.ts";
import { asRoot, postCompose } from "../../e2e/agent/support/files.ts";
import { atMost, type Bench, type BenchResult, timesFaster } from "../lib/bench.ts";
import { summarize } from "../lib/stats.ts";

const MIB = 1024 * 1024;
const ROUNDS = 5;
const PREPARE = `
  pool=$(mktemp) && truncate -s 8G $pool && mkfs.btrfs -q -f $pool >/dev/null 2>&1 && mkdir /home/btrfs && mount -o loop $pool /home/btrfs && rm $pool
  mkdir /home/btrfs/upper /home/btrfs/work /home/btrfs/lower /home/overlay
  mount -t overlay overlay -o lowerdir=/home/btrfs/lower,upperdir=/home/btrfs/upper,workdir=/home/btrfs/work /home/overlay
`;

/** Milliseconds of a shell command, measured inside, without the time to start the shell. */
async function shellMs(agent: AgentUnderTest, command: string): Promise<number> {
  return Number(await asRoot(agent, `s=$(date +%s%N); ${command}; e=$(date +%s%N); echo $(( (e - s) / 1000 ))`)) / 1000;
}

/** Measures the agent by itself, on a btrfs loop file below an overlay as in a sandbox: so nothing else writes to the file system whose blocks are counted. */
export const compose: Bench = {
  name: "compose",
  promises: [8],
  what: "4 × 256 MiB composed by an agent of its own, beside cat and cp --reflink",
  async run(): Promise<BenchResult> {
    const agent = await startAgent({ prepare: PREPARE });
    try {
      return await measure(agent);
    } finally {
      await agent.stop();
    }
  },
};

async function measure(agent: AgentUnderTest): Promise<BenchResult> {
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
  const written = Math.max(...blocks);
  return {
    series: {
      compose: mine,
      "compose of sources not yet on disk": summarize(unwritten),
      cat: other,
      "cp --reflink of 1 GiB": summarize(reflink),
    },
    verdicts: [
      atMost("compose p50", mine.p50, 20),
      timesFaster("faster than cat", mine.p50, other.p50, 50),
      { promise: "no new disk blocks (metadata alone, < 1 MiB)", measured: `${Math.round(written / 1024)} KiB`, kept: written < MIB },
    ],
    notes: [],
  };
}
