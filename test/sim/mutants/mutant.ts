import type { Subject } from '../plan/subjects.ts'

/** A defect that is put into a copy of the sources. */
export interface Mutant {
  readonly name: string
  /** What is wrong then. */
  readonly what: string
  readonly edits: readonly Edit[]
  /** The runs that look for it are about this. Absent: about everything. */
  readonly subject?: Subject
  /** How many seeds it is given. Default: 100. */
  readonly seeds?: number
}

export interface Edit {
  /** From the root of the checkout. */
  readonly file: string
  /** It must be there, once. */
  readonly find: string
  readonly replace: string
}

/** The text with the defect. @throws Error when the place of the edit is not there once */
export function edited(text: string, { file, find, replace }: Edit): string {
  const parts = text.split(find)
  if (parts.length !== 2) throw new Error(`${file}: expected once, got ${parts.length - 1} times: ${find}`)
  return parts.join(replace)
}
