interface Asked {
  readonly url: string;
  readonly key: string;
  readonly template: string;
}

/** So many creates, so many of them at a time. */
export interface AtOnce extends Asked {
  readonly count: number;
  readonly atOnce: number;
}

/** So many creates in each second, for so many seconds, whatever the server answers. */
export interface PerSecond extends Asked {
  readonly perSecond: number;
  readonly seconds: number;
}

export type Order = AtOnce | PerSecond;

export interface Load {
  /** Milliseconds that each create took that made a sandbox. */
  readonly each: readonly number[];
  /** Milliseconds of all. */
  readonly all: number;
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>;
}

class Tally {
  readonly each: number[] = [];
  readonly statuses: Record<string, number> = {};
  private readonly startedAt = performance.now();

  async create({ url, key, template }: Asked): Promise<void> {
    const from = performance.now();
    const status = await fetch(`${url}/v2/sandboxes`, {
      method: "POST",
      headers: { "X-API-Key": key, "Content-Type": "application/json" },
      body: JSON.stringify({ templateID: template, timeout: 86_400 }),
    }).then(
      async (response) => {
        await response.arrayBuffer();
        return String(response.status);
      },
      (error: Error) => error.name,
    );
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (status === "201") this.each.push(performance.now() - from);
  }

  load(): Load {
    return { each: this.each, statuses: this.statuses, all: performance.now() - this.startedAt };
  }
}

export async function askAtOnce(order: AtOnce): Promise<Load> {
  const tally = new Tally();
  let left = order.count;
  const work = async () => {
    while (left-- > 0) await tally.create(order);
  };
  await Promise.all(Array.from({ length: order.atOnce }, work));
  return tally.load();
}

export async function askPerSecond(order: PerSecond): Promise<Load> {
  const tally = new Tally();
  const { perSecond, seconds } = order;
  const from = performance.now();
  const open = new Set<Promise<void>>();
  for (let asked = 0; asked < perSecond * seconds; ) {
    const due = Math.min(perSecond * seconds, Math.ceil(((performance.now() - from) * perSecond) / 1000));
    for (; asked < due; asked++) {
      const one: Promise<void> = tally.create(order).finally(() => open.delete(one));
      open.add(one);
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await Promise.all(open);
  return tally.load();
}
