import { AppError } from "@boxyard/core";
import { FakeDriver, FakeWorld } from "@boxyard/driver/fake";

/** One call of a driver, as `RemoteDriver` sends it. */
export interface DriverCall {
  /** The driver object that is called: one for each that was opened. */
  readonly driver: string;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** Stands for an `AbortSignal` among the arguments. */
export const SIGNAL = { isSignal: true };

type Method = (...args: unknown[]) => unknown;

/** A fake world that drivers in other processes work on, as servers do on one cluster. It has neither images nor snapshots nor volumes. */
export class WorldServer {
  readonly world = new FakeWorld();
  private readonly drivers = new Map<string, FakeDriver>();
  private readonly server: Bun.Server<undefined>;
  /** Calls so far, by the name of the method. */
  readonly calls = new Map<string, number>();

  constructor() {
    for (const lack of ["images", "snapshots", "volumes"] as const) this.world.lacks.add(lack);
    this.server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: (request) => this.answer(request) });
  }

  get url(): string {
    return this.server.url.href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world.clear();
    await this.server.stop(true);
  }

  private async answer(request: Request): Promise<Response> {
    const { driver: id, method, args } = (await request.json()) as DriverCall;
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const driver = this.drivers.get(id) ?? new FakeDriver(this.world);
    this.drivers.set(id, driver);
    // A call of a caller that is killed goes on; only those that wait for an end are given up.
    const signal = method === "wait" ? request.signal : new AbortController().signal;
    const isSignal = (arg: unknown) => (arg as { isSignal?: boolean } | undefined)?.isSignal === true;
    try {
      if (method === "capabilities") return Response.json({ value: driver.capabilities });
      const value = await (driver as unknown as Record<string, Method>)[method]?.(...args.map((arg) => (isSignal(arg) ? signal : arg)));
      return Response.json({ value: value instanceof Map ? { mapEntries: [...value] } : value });
    } catch (error) {
      const { code, message, reason, details } = error instanceof AppError ? error : new AppError("internal", String(error));
      return Response.json({ error: { code, message, reason, details } });
    }
  }
}
