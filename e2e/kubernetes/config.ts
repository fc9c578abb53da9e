type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of the tests, for the programs that they start. */
export const environment = (env: Environment = process.env): Environment => env;

/** Where the cluster of `./boxyard test kubernetes` is. */
export const clusterDirectory = (env: Environment = process.env): string => env.BOXYARD_TEST_CLUSTER ?? "";

/** Pods that are claimed at once; 4 by default. */
export const podsAtOnce = (env: Environment = process.env): number => Number(env.BOXYARD_TEST_PODS ?? 4);
