import type { Setup } from './setup.ts'

/** How a mutant is made in a real script: a text of the script, and what stands in its place. */
export interface Patch {
  readonly script: string
  readonly from: string
  readonly to: string
}

export interface Mutant {
  /** What is taken out of the protocol. */
  readonly what: string
  /** The law that it breaks. */
  readonly law: string
  /** Where the checker finds that soonest. */
  readonly setup: Partial<Setup>
  /** Absent: what is taken out stands in no script. */
  readonly patch?: Patch
  /** A way on which the patched script shows itself, where random ways seldom come there. */
  readonly route?: readonly string[]
}
