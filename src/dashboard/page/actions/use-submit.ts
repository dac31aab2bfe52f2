import { useState } from 'preact/hooks'
import type { ApiProblem } from '../data/api.ts'
import { announce } from '../data/notice.ts'
import { asProblem, lock } from '../data/session.ts'

interface Submit {
  readonly isBusy: boolean
  readonly problem: ApiProblem | undefined
  /** Performs the action once. Closes the dialog and announces `done` on success, else shows the problem. */
  readonly run: (act: () => Promise<unknown>, done: string) => Promise<void>
  readonly forget: () => void
}

/** Submits the action of a dialog to the service. */
export function useSubmit(onDone: () => void): Submit {
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
