/** Factors of the suffixes of quantities (Kubernetes API reference, Quantity). */
const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** The number of a quantity such as `512Mi`, `250m` or `1e3`; 0 for an absent one and for other text. */
export function quantity(text: string | undefined): number {
  const [, number = "", suffix = ""] = /^([0-9.]+(?:[eE][0-9]+)?)([A-Za-z]{0,2})$/.exec(text ?? "") ?? [];
  return Number(number) * (FACTORS[suffix] ?? 0) || 0;
}
