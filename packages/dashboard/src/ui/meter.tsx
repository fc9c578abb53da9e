interface MeterProps {
  readonly label: string;
  readonly used: number;
  readonly most: number;
  /** The amounts in words. */
  readonly words: string;
}

const NEARLY = 0.8;
const FULL = 0.95;

/** How much of something is used. */
export function Meter({ label, used, most, words }: MeterProps) {
  const part = most > 0 ? Math.min(1, used / most) : used > 0 ? 1 : 0;
  return (
    <div class="meter">
      <div class="meter-words">
        <span>{label}</span>
        <span class="muted steady">{words}</span>
      </div>
      {/* The words say the same. */}
      <div class={`meter-track ${part >= FULL ? "bad" : part >= NEARLY ? "warm" : ""}`} aria-hidden="true">
        <div class="meter-fill" style={{ transform: `scaleX(${part})` }} />
      </div>
    </div>
  );
}
