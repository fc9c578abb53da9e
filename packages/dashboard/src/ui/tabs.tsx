import { Link } from "./link.tsx";

interface TabsProps {
  readonly label: string;
  /** The place without the tab's name. */
  readonly base: string;
  readonly current: string;
  readonly tabs: readonly (readonly [name: string, text: string])[];
}

/** Parts of one page. Each has an address of its own, so they are links. */
export function Tabs({ label, base, current, tabs }: TabsProps) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(([name, text]) => (
        <Link key={name} to={`${base}/${name}`} current={name === current}>
          {text}
        </Link>
      ))}
    </nav>
  );
}
