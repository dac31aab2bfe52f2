import { VelvetRopeError } from '../core/errors.ts'

/** A problem with a configuration. */
export interface ConfigProblem {
  /**
   * The place: `velvet-rope.yaml:3:5` (line and column from 1), `VELVET_ROPE_SHARDS`, `--shards`, or the file alone.
   */
  readonly where: string
  /** What was expected and what came. */
  readonly message: string
}

const MOST_SHOWN = 20

/**
 * The configuration is invalid. The message has a line for each problem, 20 at most, and never shows a password or a
 * token.
 */
export class InvalidConfigError extends VelvetRopeError {
  /** All problems, those of the file first, in its order. */
  readonly problems: readonly ConfigProblem[]

  constructor(problems: readonly ConfigProblem[]) {
    const lines = problems.slice(0, MOST_SHOWN).map(({ where, message }) => `${where}: ${message}`)
    const more = problems.length - lines.length
    super('invalid-config', [...lines, ...(more > 0 ? [`... and ${more} more`] : [])].join('\n'))
    this.problems = problems
  }
}
