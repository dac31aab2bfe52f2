import type { RulePreview } from '../../../core/rule-view.ts'
import type { ApiProblem } from '../data/api.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PreviewView } from './preview-view.tsx'

interface ChangeReportProps {
  /** There is something to change. */
  readonly isAsked: boolean
  readonly preview: RulePreview | undefined
  /** Why there is no preview. */
  readonly fault: ApiProblem | undefined
  /** Why it was not done. */
  readonly problem: ApiProblem | undefined
  readonly onReload: () => void
}

/** What a change of the rule book would do, or why it cannot be done. */
export function ChangeReport({ isAsked, preview, fault, problem, onReload }: ChangeReportProps) {
  if (problem?.status === 412) {
    return (
      <ProblemNote>
        Somebody else has changed the rule book in the meantime, so nothing was changed.{' '}
        <button type="button" class="button is-small" onClick={onReload}>
          Look again
        </button>
      </ProblemNote>
    )
  }
  return (
    <div class="report" aria-live="polite">
      {problem !== undefined && <ProblemNote>{problem.message}</ProblemNote>}
      {fault !== undefined && <ProblemNote>{fault.message}</ProblemNote>}
      {preview !== undefined && <PreviewView preview={preview} />}
      {isAsked && preview === undefined && fault === undefined && (
        <p class="hint is-waiting">Looking ahead…</p>
      )}
    </div>
  )
}
