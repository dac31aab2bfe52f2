import fc from 'fast-check'
import { Watch } from './watch.ts'

/** Gives generated inputs to one part of the code, and knows which answers it may give. */
export interface Machine {
  readonly name: string
  /** How many inputs the run in `npm test` gives: a few seconds. */
  readonly few: number
  /** Its part of a long run, compared with those of the other machines. */
  readonly share: number
  /** Gives so many inputs, or a few more, and returns how many. @throws (rejects) with the shortest input that fails */
  run(run: Run): Promise<number>
}

export interface Run {
  readonly inputs: number
  readonly seed: number
}

interface Definition<Input> extends Pick<Machine, 'name' | 'few' | 'share'> {
  readonly inputs: fc.Arbitrary<Input>
  /** How many inputs one generated sequence is, about. Default: 1. */
  readonly size?: number
  /** Opens what the inputs are given to. */
  open(): Promise<Opened<Input>>
}

export interface Opened<Input> {
  /**
   * Gives one input to the code under test. Returns how many inputs that were, where it is a sequence; otherwise 1.
   *
   * @throws (rejects) where the answer is none that the code may give
   */
  give(input: Input): Promise<number>
  close(): Promise<void>
}

/** Inputs between two openings: what the code under test gathers does not grow for ever, and a failure replays quickly. */
const ROUND = 2_000

/** An input that gets no answer for so long fails; one that lets no timer fire ends the process, see watch.ts. */
const PATIENCE_MS = 60_000

/** @throws (rejects) where there is no answer in time */
async function inTime(answer: Promise<number>): Promise<number> {
  let timer: NodeJS.Timeout | undefined
  const hang = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError()), PATIENCE_MS)
  })
  try {
    return await Promise.race([answer, hang])
  } finally {
    clearTimeout(timer)
  }
}

class NoAnswerError extends Error {
  override readonly message = `no answer within ${PATIENCE_MS / 1_000} s`
}

/** Each round has a seed of its own, counted from the first; fast-check reports that of a failure. */
export function machine<Input>({ inputs: generator, size = 1, open, ...named }: Definition<Input>): Machine {
  const rounds = async ({ inputs, seed }: Run, watch: Watch) => {
    let given = 0
    for (let round = 0; given < inputs; round++) {
      const opened = await open()
      const numRuns = Math.ceil(Math.min(ROUND, inputs - given) / size)
      let isHung = false
      let number = 0
      const property = fc.asyncProperty(generator, async (input) => {
        // An input that hangs is not shortened: each try would take as long.
        if (isHung) return
        watch.begin(seed + round, ++number)
        given += await inTime(opened.give(input)).catch((error: unknown) => {
          isHung = error instanceof NoAnswerError
          throw error
        })
        watch.end()
      })
      try {
        await fc.assert(property, { seed: seed + round, numRuns })
      } finally {
        await opened.close()
      }
    }
    return given
  }
  const run = async (asked: Run) => {
    const watch = new Watch(named.name)
    try {
      return await rounds(asked, watch)
    } finally {
      await watch.close()
    }
  }
  return { ...named, run }
}

/** A machine whose code under test keeps nothing from one input to the next. */
export function pureMachine<Input>(
  definition: Omit<Definition<Input>, 'open'>,
  check: (input: Input) => void,
): Machine {
  const give = async (input: Input) => {
    check(input)
    return 1
  }
  return machine({ ...definition, open: async () => ({ give, close: async () => undefined }) })
}
