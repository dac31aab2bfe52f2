import type { RulePreview } from '../../../core/rule-view.ts'
import type { ApiProblem } from '../data/api.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { PreviewView } from './preview-view.tsx'

interface ChangeReportProps {
  /** Whether there is a change to preview. */
  readonly isAsked: boolean
  readonly preview: RulePreview | undefined
  /** Why the preview failed. */
  readonly fault: ApiProblem | undefined
  /** Why the change failed. */
  readonly problem: ApiProblem | undefined
  readonly onReload: () => void
}

/** The preview of a change of the rule book, or why it failed. */
export function ChangeReport({ isAsked, preview, fault, problem, onReload }: ChangeReportProps) {
  if (problem?.status === 412) {
    return (
      <ProblemNote>
        Another change came first. The rule book was not changed.{' '}
        <button type="button" class="button is-small" onClick={onReload}>
          Reload
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
        <p class="hint is-waiting">Loading the preview…</p>
      )}
    </div>
  )
}
