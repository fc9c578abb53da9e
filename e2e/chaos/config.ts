/** How long the suite `chaos` runs, and from which seed: a failed run is repeated with the seed that it printed. */
export interface ChaosConfig {
  readonly seconds: number;
  readonly seed: number;
}

export function readChaosConfig(env: Readonly<Record<string, string | undefined>> = process.env): ChaosConfig {
  return {
    seconds: Number(env.BOXYARD_CHAOS_SECONDS || 60),
    seed: Number(env.BOXYARD_CHAOS_SEED || crypto.getRandomValues(new Uint32Array(1))[0]),
  };
}
