import { useState } from 'preact/hooks'
import type { ApiProblem } from '../data/api.ts'
import { announce } from '../data/notice.ts'
import { asProblem, lock } from '../data/session.ts'

interface Doing {
  readonly isBusy: boolean
  readonly problem: ApiProblem | undefined
  /** Does it once; closes the dialog and says so when it is done, and says why when it is not. */
  readonly run: (act: () => Promise<unknown>, done: string) => Promise<void>
  readonly forget: () => void
}

/** Something that is asked of the service from a dialog. */
export function useDoing(onDone: () => void): Doing {
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<ApiProblem>()
  const run = async (act: () => Promise<unknown>, done: string) => {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      await act()
      announce(done)
      onDone()
    } catch (error) {
      const met = asProblem(error)
      setProblem(met)
      setBusy(false)
      if (met.status === 401) lock()
    }
  }
  return { isBusy, problem, run, forget: () => setProblem(undefined) }
}
