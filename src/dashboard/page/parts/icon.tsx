/** Drawn on 16 by 16 with a line of 1.5. Icons are decorative: text next to them says the same. */
const PATHS = {
  idle: 'M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9Z',
  waiting: 'M8 3.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9ZM8 5.5V8l1.7 1.2',
  full: 'M3.5 8h9M4.5 4.5h7v7h-7Z',
  frozen: 'M8 2v12M2.8 5l10.4 6M13.2 5L2.8 11M6.5 3L8 4.2L9.5 3M6.5 13L8 11.8L9.5 13',
  paused: 'M6 4v8M10 4v8',
  resume: 'M5.5 3.5v9l7-4.5Z',
  limit: 'M2.5 5h6M11.5 5h2M2.5 11h2M7.5 11h6M8.5 3.3v3.4h3V3.3ZM4.5 9.3v3.4h3V9.3Z',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  back: 'M9.5 3.5L5 8l4.5 4.5',
  next: 'M6.5 3.5L11 8l-4.5 4.5',
  close: 'M4 4l8 8M12 4l-8 8',
  search: 'M7 2.8a4.2 4.2 0 1 0 0 8.4a4.2 4.2 0 0 0 0-8.4ZM10.2 10.2L13.5 13.5',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6a2.8 2.8 0 0 0 0-5.6ZM8 1.5v1.2M8 13.3v1.2M1.5 8h1.2M13.3 8h1.2M3.4 3.4l.9.9M11.7 11.7l.9.9M12.6 3.4l-.9.9M4.3 11.7l-.9.9',
  moon: 'M13 9.6A5.4 5.4 0 0 1 6.4 3a5.4 5.4 0 1 0 6.6 6.6Z',
  system: 'M2.5 3.5h11v7h-11ZM6 13.2h4M8 10.5v2.7',
  up: 'M8 12.5v-9M4.5 7L8 3.5L11.5 7',
  down: 'M8 3.5v9M4.5 9L8 12.5L11.5 9',
  plus: 'M8 3.5v9M3.5 8h9',
  undo: 'M5.5 3L3 5.5L5.5 8M3 5.5h6a3.5 3.5 0 0 1 0 7H6',
  check: 'M3.5 8.5l3 3l6-7',
  bin: 'M3 4.5h10M6.5 4.5v-1.5h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5',
  warning: 'M8 2.5L14 13H2ZM8 6.5v3M8 11.3v.01',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
