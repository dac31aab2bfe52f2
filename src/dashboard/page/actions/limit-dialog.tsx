import { useId, useState } from 'preact/hooks'
import { isFamily } from '../data/family.ts'
import { visibleText } from '../data/shown-text.ts'
import { Modal } from '../parts/modal.tsx'
import { ChangeReport } from './change-report.tsx'
import { DialogForm } from './dialog-form.tsx'
import { applyChange, type RuleRequest } from './rule-requests.ts'
import { ScopeChoice } from './scope-choice.tsx'
import { usePreview } from './use-preview.ts'
import { useSubmit } from './use-submit.ts'

interface LimitDialogProps {
  /** The bucket for which the dialog was opened, if any. */
  readonly bucket?: string
  /** The pattern of the governing rule, or of the rule to change; absent for a new rule. */
  readonly pattern?: string
  readonly limit: string
  readonly onClose: () => void
}

/** Sets a limit by hand, after a preview of its effect. */
export function LimitDialog({ bucket, pattern: given, limit: before, onClose }: LimitDialogProps) {
  const isNew = bucket === undefined && given === undefined
  const [pattern, setPattern] = useState(bucket ?? given ?? '')
  const [limit, setLimit] = useState(before)
  const [isMeantLocal, setLocal] = useState(false)
  // A total is never of one process.
  const isLocal = isMeantLocal && !isFamily(pattern)
  const field = useId()
  const isAnother = limit.trim() !== '' && pattern !== '' && (limit.trim() !== before || pattern !== given)
  const request: RuleRequest | undefined = isAnother
    ? { kind: 'set', pattern, limit: limit.trim(), ...(isLocal && { isLocal }) }
    : undefined
  const { preview, problem: fault, again } = usePreview(isLocal ? undefined : request)
  const { isBusy, problem, run, forget } = useSubmit(onClose)
  const apply = () => {
    if (request === undefined || (preview === undefined && !isLocal)) return
    const act = () => applyChange(request, preview?.version)
    void run(act, `The limit of ${visibleText(pattern)} is now ${limit.trim()}.`)
  }
  return (
    <Modal title={isNew ? 'Add a rule' : 'Change the limit'} onClose={onClose}>
      <DialogForm
        submit={isNew ? 'Add rule' : 'Change limit'}
        isReady={request !== undefined && (isLocal || preview !== undefined)}
        isBusy={isBusy}
        onSubmit={apply}
        onCancel={onClose}
      >
        <ScopeChoice
          bucket={bucket}
          governing={given}
          pattern={pattern}
          onPattern={setPattern}
          isLocal={isLocal}
          onLocal={setLocal}
        />
        <div class="field">
          <label for={field}>Limit</label>
          <input
            id={field}
            class="input is-code"
            value={limit}
            onInput={(event) => setLimit(event.currentTarget.value)}
            aria-describedby={`${field}-hint`}
            placeholder="500, 100/s"
            autocomplete="off"
            spellcheck={false}
          />
          <p id={`${field}-hint`} class="hint">
            Capacity and rate: <code>500, 100/s</code>, <code>20, 100 per 15m</code>,{' '}
            <code>50, every 250ms</code>. More after it, such as quotas:{' '}
            <code>100, 3/s, 2000/day, 50 at once</code>
          </p>
        </div>
        <ChangeReport
          isAsked={request !== undefined && !isLocal}
          preview={preview}
          fault={fault}
          problem={problem}
          onReload={() => {
            forget()
            again()
          }}
        />
      </DialogForm>
    </Modal>
  )
}
