import { Store } from './store.ts'

/** What was just done, or could not be; told once, to eyes and to screen readers. */
export interface Notice {
  readonly text: string
  readonly isBad: boolean
  /** Tells two of the same text apart. */
  readonly number: number
}

export const notice = new Store<Notice | undefined>(undefined)

let number = 0

export function announce(text: string, isBad = false): void {
  notice.set({ text, isBad, number: ++number })
}
