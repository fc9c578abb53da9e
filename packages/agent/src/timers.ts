/** Longest delay that a timer of the runtime takes as it is. */
const MAX_DELAY_MS = 0x7fff_ffff;

/** Calls `fire` once after `ms`, however long that is. Returns how to cancel it. */
export function after(ms: number, fire: () => void): () => void {
  let timer: Timer;
  const arm = (left: number) => {
    timer = setTimeout(() => (left > MAX_DELAY_MS ? arm(left - MAX_DELAY_MS) : fire()), Math.min(left, MAX_DELAY_MS));
  };
  arm(ms);
  return () => clearTimeout(timer);
}
