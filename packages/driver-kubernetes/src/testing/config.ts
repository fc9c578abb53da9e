/** The directory of the running test cluster; undefined outside of `./boxyard test kubernetes`. */
export const clusterDirectory = (env: Readonly<Record<string, string | undefined>> = process.env): string | undefined =>
  env.BOXYARD_TEST_CLUSTER || undefined;
