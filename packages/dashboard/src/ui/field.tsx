import { useId } from "preact/hooks";

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  /** What it means to leave it empty. A number without a placeholder cannot be left empty: 0 would be sent. */
  readonly placeholder?: string;
  readonly type?: "text" | "number" | "password" | "search";
  readonly autoFocus?: boolean;
  readonly min?: number;
  readonly max?: number;
  /** Smallest difference of two numbers; 1 by default. */
  readonly step?: number;
  /** More than one line. */
  readonly rows?: number;
  readonly mono?: boolean;
}

/** A labelled input. */
export function Field({
  label,
  value,
  onInput,
  hint,
  placeholder,
  type = "text",
  autoFocus = false,
  min,
  max,
  step,
  rows,
  mono = false,
}: FieldProps) {
  const id = useId();
  const shared = {
    id,
    value,
    placeholder: placeholder ?? "",
    class: mono ? "input mono" : "input",
    spellcheck: false,
    autocomplete: "off",
    ...(hint && { "aria-describedby": `${id}-hint` }),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        <input
          {...shared}
          // The types of JSX take each kind of input by itself.
          type={type as "text"}
          required={type === "number" && placeholder === undefined}
          {...(min !== undefined && { min })}
          {...(max !== undefined && { max })}
          {...(step !== undefined && { step })}
          ref={(element) => {
            if (autoFocus && element && document.activeElement !== element && element.dataset.focused === undefined) {
              element.dataset.focused = "";
              element.focus();
            }
          }}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...shared} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly (readonly [value: string, text: string])[];
  /** The label is for screen readers only. */
  readonly quiet?: boolean;
}

/** A labelled choice of one. */
export function Choice({ label, value, onChange, options, quiet = false }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id} class={quiet ? "hidden" : ""}>
        {label}
      </label>
      <select id={id} class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

export function Checkbox({ label, checked, onChange }: { label: string; checked: boolean; onChange: (checked: boolean) => void }) {
  return (
    <label class="checkbox">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}
