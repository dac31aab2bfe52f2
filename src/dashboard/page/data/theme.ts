import { Store } from './store.ts'

export type Theme = 'system' | 'light' | 'dark'

const NAME = 'velvet-rope-theme'
const NEXT: Readonly<Record<Theme, Theme>> = { system: 'light', light: 'dark', dark: 'system' }

export const theme = new Store<Theme>(kept())
/** Grows when the colours change, for canvases, which CSS does not reach. */
export const looks = new Store(0)

theme.listen(wear)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', wear)
wear()

export function turnTheme(): void {
  const next = NEXT[theme.get()]
  localStorage.setItem(NAME, next)
  theme.set(next)
}

function kept(): Theme {
  const text = localStorage.getItem(NAME)
  return text === 'light' || text === 'dark' ? text : 'system'
}

function wear(): void {
  const chosen = theme.get()
  if (chosen === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = chosen
  looks.set(looks.get() + 1)
}
