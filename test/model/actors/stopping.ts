import { PLACES, type Step, type Transition } from './transition.ts'
import { FREE } from './world.ts'

/** A process of either model. */
interface Process {
  readonly state: { isStopped: number }
  /** What a worker holds. */
  readonly entries?: readonly { readonly phase: number; isHit: number }[]
}
type AnyStep = Step<{ spend(kind: 'stop'): boolean }, unknown>

/** A process is stopped for any time at any step, and goes on: `of` says which processes there are, and how they are called. */
export function stopping<Some extends AnyStep>(
  of: Pick<Transition<Some>, 'ways' | 'describe'>,
  process: (world: Some['world'], way: number) => Process,
): readonly Transition<Some>[] {
  const stop: Transition<Some> = {
    name: 'is stopped',
    verb: PLACES.process,
    isFault: true,
    ...of,
    take({ world }, way) {
      const { state, entries = [] } = process(world, way)
      if (state.isStopped === 1 || !world.spend('stop')) return false
      state.isStopped = 1
      for (const entry of entries) if (entry.phase !== FREE) entry.isHit = 1
      return true
    },
  }
  const goOn: Transition<Some> = {
    name: 'goes on',
    verb: PLACES.process,
    ...of,
    take({ world }, way) {
      const { state } = process(world, way)
      if (state.isStopped === 0) return false
      state.isStopped = 0
      return true
    },
  }
  return [stop, goOn]
}
