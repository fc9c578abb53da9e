import { AppError, type ErrorCode } from "@boxyard/core";
import { type DriverCapabilities, DriverOfParts, type DriverParts, type SandboxDriver } from "@boxyard/driver";
import { type DriverCall, SIGNAL } from "./world-server.ts";

interface Answer {
  readonly value?: unknown;
  readonly error?: {
    readonly code: ErrorCode;
    readonly message: string;
    readonly reason?: string;
    readonly details?: Record<string, unknown>;
  };
}

/** A driver whose world is in another process (`WorldServer`). */
export async function openRemoteDriver(url: string): Promise<SandboxDriver> {
  const driver = crypto.randomUUID();
  const call = (method: string, args: readonly unknown[]) => callDriver(url, { driver, method, args });
  const capabilities = (await call("capabilities", [])) as DriverCapabilities;
  const part = new Proxy(
    { name: "fake", capabilities },
    {
      get: (target, name) => {
        if (name === "takeAttempts") return () => ({ attempts: [], dropped: new Map() });
        return Reflect.get(target, name) ?? ((...args: unknown[]) => call(String(name), args));
      },
    },
  ) as unknown;
  const parts = { runtime: part, network: part, checkpoint: part } as Pick<DriverParts, "runtime" | "network" | "checkpoint">;
  return new DriverOfParts(parts);
}

async function callDriver(url: string, { driver, method, args }: DriverCall): Promise<unknown> {
  const signal = args.find((arg) => arg instanceof AbortSignal);
  const sent: DriverCall = { driver, method, args: args.map((arg) => (arg instanceof AbortSignal ? SIGNAL : arg)) };
  const options = { method: "POST", body: JSON.stringify(sent), ...(signal && { signal }), timeout: false };
  const { value, error } = (await (await fetch(url, options)).json()) as Answer;
  if (error) throw new AppError(error.code, error.message, error);
  const { mapEntries } = (value ?? {}) as { mapEntries?: [unknown, unknown][] };
  return mapEntries ? new Map(mapEntries) : value;
}
