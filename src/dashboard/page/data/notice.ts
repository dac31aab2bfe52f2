import { Store } from './store.ts'

/** The result of an action, shown once, also to screen readers. */
export interface Notice {
  readonly text: string
  readonly isBad: boolean
  /** Distinguishes notices with the same text. */
  readonly number: number
}

export const notice = new Store<Notice | undefined>(undefined)

let number = 0

export function announce(text: string, isBad = false): void {
  notice.set({ text, isBad, number: ++number })
}
