import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { AREAS } from "./areas.ts";
import { usePlace } from "./lib/router.ts";
import { type SessionInfo, signOut } from "./lib/session.ts";
import { applyTheme, nextTheme } from "./lib/theme.ts";
import { Palette } from "./palette.tsx";
import { IconButton } from "./ui/button.tsx";
import { Icon } from "./ui/icon.tsx";
import { Link } from "./ui/link.tsx";

const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent);

/** The frame around every page: where one can go, and who is signed in. */
export function Shell({ session, children }: { session: SessionInfo; children: ComponentChildren }) {
  const [area = ""] = usePlace();
  const [isOpen, setOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  useEffect(applyTheme, []);
  useEffect(() => setOpen(false), [area]);
  // At once: who sees the page may press keys before the browser has painted what follows it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(isMac ? event.metaKey : event.ctrlKey) || event.shiftKey || event.altKey) return;
      // In a terminal Ctrl-K belongs to the program there.
      if (!isMac && event.target instanceof Element && event.target.closest(".xterm")) return;
      event.preventDefault();
      setPaletteOpen(true);
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div class={`shell ${isOpen ? "open" : ""}`}>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <aside class="side">
        <div class="brand">
          <Link to="/" class="logo">
            <Logo />
            <span>Boxyard</span>
          </Link>
          <div class="menu-toggle">
            <IconButton icon="menu" label={isOpen ? "Close the menu" : "Open the menu"} onPress={() => setOpen(!isOpen)} />
          </div>
        </div>
        <button class="search-button" type="button" onClick={() => setPaletteOpen(true)}>
          <Icon name="search" />
          <span>Go to…</span>
          <kbd>{isMac ? "⌘K" : "Ctrl K"}</kbd>
        </button>
        <nav aria-label="Main">
          {AREAS.map(({ path, name, icon }) => (
            <Link key={path} to={path} current={`/${area}` === path}>
              <Icon name={icon} />
              <span>{name}</span>
            </Link>
          ))}
        </nav>
        <footer class="side-foot">
          <div class="who">
            <span class="who-name">{session.key.name || "API key"}</span>
            <span class="who-more">Boxyard {session.version}</span>
          </div>
          <IconButton icon="sun" label="Change between light and dark" onPress={nextTheme} />
          <IconButton icon="leave" label="Sign out" onPress={signOut} />
        </footer>
      </aside>
      <main id="content" class="main" tabIndex={-1}>
        {children}
      </main>
      {isPaletteOpen && <Palette onClose={() => setPaletteOpen(false)} />}
    </div>
  );
}

export function Logo() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path class="mark-back" d="M12 2l9 5v10l-9 5-9-5V7z" />
      <path class="mark-front" d="M12 12l9-5M12 12L3 7M12 12v10" />
    </svg>
  );
}
