/** Longest delay of a timer of the runtime; longer ones would fire at once. */
const MAX_DELAY_MS = 0x7fff_ffff;

/** Calls `fire` once after `ms`, of any length. Returns a function that cancels it. */
export function after(ms: number, fire: () => void): () => void {
  let timer: Timer;
  const arm = (left: number) => {
    timer = setTimeout(() => (left > MAX_DELAY_MS ? arm(left - MAX_DELAY_MS) : fire()), Math.min(left, MAX_DELAY_MS));
  };
  arm(ms);
  return () => clearTimeout(timer);
}
