import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface PageProps {
  readonly title: string;
  readonly subtitle?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  /** Fills the height of the window. */
  readonly fill?: boolean;
}

export function Page({ title, subtitle, actions, children, fill = false }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Boxyard`;
  }, [title]);
  return (
    <div class={fill ? "page fill" : "page"}>
      <header class="page-head">
        <div>
          <h1>{title}</h1>
          {subtitle !== undefined && <div class="subtitle">{subtitle}</div>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Card({ title, actions, children }: { title?: string; actions?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card">
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {actions}
        </header>
      )}
      {children}
    </section>
  );
}

/** Facts by their names. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
