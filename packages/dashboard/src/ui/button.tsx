import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icon.tsx";
import { failed } from "./toasts.tsx";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly icon?: IconName;
  readonly kind?: "primary" | "plain" | "danger" | "quiet";
  readonly disabled?: boolean;
  readonly title?: string;
  readonly type?: "button" | "submit";
  /** While its promise is pending the button cannot be pressed; its failure is shown. */
  readonly onPress?: () => void | Promise<void>;
}

export function Button({ children, icon, kind = "plain", disabled = false, title, type = "button", onPress }: ButtonProps) {
  const [isBusy, setBusy] = useState(false);
  const press = async () => {
    const result = onPress?.();
    if (!result) return;
    setBusy(true);
    await result.catch(failed);
    setBusy(false);
  };
  return (
    <button class={`button ${kind}`} type={type} disabled={disabled || isBusy} aria-busy={isBusy} title={title} onClick={press}>
      {icon && <Icon name={icon} />}
      <span>{children}</span>
    </button>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  /** What it does, for screen readers and as a hint. */
  readonly label: string;
  readonly disabled?: boolean;
  readonly onPress: () => void | Promise<void>;
}

export function IconButton({ icon, label, disabled = false, onPress }: IconButtonProps) {
  const press = () => void Promise.resolve(onPress()).catch(failed);
  return (
    <button class="icon-button" type="button" aria-label={label} title={label} disabled={disabled} onClick={press}>
      <Icon name={icon} />
    </button>
  );
}
