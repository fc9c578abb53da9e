import type { Platform } from "@boxyard/testkit";
import { CREATE_POINTS, KILL_POINTS } from "@boxyard/testkit/fault-points";
import type { Dice } from "./dice.ts";

const POINTS = [...CREATE_POINTS, ...KILL_POINTS];
const WHEN = ["before", "after"] as const;

/** Kills the server and lets its steps fail, now and then, and starts it again. */
export class ServerKiller {
  kills = 0;
  failures = 0;
  /** Changes with every event that may lose an answer or fail an operation; workers compare it before and after an operation. */
  epoch = 0;
  /** True while the server is away. */
  away = false;
  /** True while a step may still fail that was told to. */
  faultPending = false;
  private readonly platform: Platform;
  private readonly dice: Dice;

  constructor(platform: Platform, dice: Dice) {
    this.platform = platform;
    this.dice = dice;
  }

  async run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      // Time for the workers; the only thing here that waits for a time, because load is what it is for.
      await Bun.sleep(500 + this.dice.next() * 3000);
      await this.dice.weighted([
        [2, () => this.kill()],
        [2, () => this.killAtStep()],
        [3, () => this.failStep()],
      ])();
    }
  }

  /** No fault is left to come, and the server runs. */
  async settle(): Promise<void> {
    this.platform.inject();
    this.faultPending = false;
    this.epoch++;
    if (this.away) await this.restart();
  }

  private async kill(): Promise<void> {
    this.epoch++;
    this.away = true;
    await this.platform.kill9();
    this.kills++;
    await this.restart();
  }

  private async killAtStep(): Promise<void> {
    this.epoch++;
    this.faultPending = true;
    this.platform.inject({ ...this.dice.pick(POINTS), when: this.dice.pick(WHEN), act: "die" });
    const died = await Promise.race([this.platform.died().then(() => true), Bun.sleep(3000).then(() => false)]);
    if (!died) return this.kill();
    this.away = true;
    this.kills++;
    await this.restart();
  }

  private async failStep(): Promise<void> {
    this.epoch++;
    this.failures++;
    this.faultPending = true;
    this.platform.inject({
      ...this.dice.pick(POINTS),
      when: this.dice.pick(WHEN),
      act: this.dice.pick(["internal", "unavailable"] as const),
    });
  }

  private async restart(): Promise<void> {
    this.platform.inject();
    await this.platform.restart();
    this.faultPending = false;
    this.epoch++;
    this.away = false;
  }
}
