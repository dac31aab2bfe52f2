import type { Step, Transition } from '../actors/transition.ts'
import type { Cells } from '../store/cells.ts'

interface SearchedWorld {
  readonly cells: Cells
  /** The law that the last step has broken. */
  breach: string | undefined
}

/** A model, as the search sees it: one world, whose cells are set to a state before each step. */
export interface Space<AnyStep extends SearchedStep> {
  readonly name: string
  readonly step: AnyStep
  readonly transitions: readonly Transition<AnyStep>[]
  /** Notes what has ended, and judges what holds in every state. */
  judge(): void
  /** Gives one form to states that differ only in what no step can tell apart. */
  canonicalize(): void
  /** All jobs have ended, or were refused. */
  isOver(): boolean
}

export type SearchedStep = Step<SearchedWorld, unknown>
