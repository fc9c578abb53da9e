/** Paths of the icons, drawn for this program on a grid of 16. */
const PATHS = {
  overview: "M2 9l6-6 6 6M4 8v5h8V8",
  box: "M8 1.8l5.5 3v6.4L8 14.2l-5.5-3V4.8zM2.5 4.8L8 8l5.5-3.2M8 8v6.2",
  template: "M3 2.5h10v3H3zM3 8h4v5.5H3zM9.5 8H13v5.5H9.5z",
  snapshot: "M2.5 5h2.2l1-1.7h4.6l1 1.7h2.2v8h-11zM8 11a2.2 2.2 0 100-4.4A2.2 2.2 0 008 11z",
  volume: "M13 4c0 1.1-2.2 2-5 2S3 5.100 3 4s2.200-2 5-2 5 .9 5 2zM3 4v8c0 1.100 2.200 2 5 2s5-.9 5-2V4M3 8c0 1.100 2.200 2 5 2s5-.9 5-2",
  key: "M10.500 9.500a4 4 0 10-3.800-2.800L2.500 11v2.500H5V12h1.500v-1.500H8l1-1.200c.5.100 1 .2 1.500.2zM11 5h.01",
  settings:
    "M2.500 4.500h7M12.500 4.500h1M2.500 11.500h1M6.500 11.500h7M11 6a1.500 1.500 0 100-3 1.500 1.500 0 000 3zM5 13a1.500 1.500 0 100-3 1.500 1.500 0 000 3z",
  search: "M7 12A5 5 0 107 2a5 5 0 000 10zM10.700 10.700L14 14",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  copy: "M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3",
  check: "M3 8.500l3.500 3.500L13 5",
  pause: "M5.500 3.500v9M10.500 3.500v9",
  play: "M5 3l8 5-8 5z",
  fork: "M4.500 5.500v5M4.500 5.500a1.500 1.500 0 100-3 1.500 1.500 0 000 3zM4.500 13.500a1.500 1.500 0 100-3 1.500 1.500 0 000 3zM11.500 5.500a1.500 1.500 0 100-3 1.500 1.500 0 000 3zM11.500 5.500c0 3-7 1.500-7 5",
  trash: "M3 4.500h10M6 4.500v-2h4v2M4.500 4.500l.6 9h5.800l.6-9",
  clock: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 4.500V8l2.500 1.500",
  undo: "M3 6.500h6.500a3.500 3.500 0 010 7H6M3 6.500l3-3M3 6.500l3 3",
  chevron: "M6 3.500L10.500 8 6 12.500",
  directory: "M2 4h4.500l1.500 1.500h6V13H2z",
  file: "M4 1.800h5L12 5v9.200H4zM9 1.800V5h3",
  upload: "M8 11V3M4.500 6L8 2.500 11.500 6M2.500 13.500h11",
  download: "M8 2.500v8M4.500 7L8 10.500 11.500 7M2.500 13.500h11",
  leave: "M9.500 3H3v10h6.500M6.500 8H14M11 5l3 3-3 3",
  menu: "M2.500 4.500h11M2.500 8h11M2.500 11.500h11",
  external: "M9 3h4v4M13 3L7.500 8.500M11 9.500V13H3V5h3.500",
  sun: "M8 11a3 3 0 100-6 3 3 0 000 6zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1",
  refresh: "M13 8a5 5 0 11-1.500-3.500M13 2.500V5h-2.500",
  more: "M3.500 8h.01M8 8h.01M12.500 8h.01",
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside words: screen readers skip it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
