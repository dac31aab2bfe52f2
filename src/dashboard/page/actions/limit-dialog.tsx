import { useId, useState } from 'preact/hooks'
import { visibleText } from '../data/shown-text.ts'
import { Modal } from '../parts/modal.tsx'
import { ChangeReport } from './change-report.tsx'
import { DialogForm } from './dialog-form.tsx'
import { applyChange, type RuleRequest } from './rule-requests.ts'
import { ScopeChoice } from './scope-choice.tsx'
import { useDoing } from './use-doing.ts'
import { usePreview } from './use-preview.ts'

interface LimitDialogProps {
  /** The bucket that the dialog was opened for, if it was one. */
  readonly bucket?: string
  /** The rule that governs, or that is to be changed; absent for a new one. */
  readonly pattern?: string
  readonly limit: string
  readonly onClose: () => void
}

/** Sets a limit by hand, after it was shown what that does. */
export function LimitDialog({ bucket, pattern: given, limit: before, onClose }: LimitDialogProps) {
  const isNew = bucket === undefined && given === undefined
  const [pattern, setPattern] = useState(bucket ?? given ?? '')
  const [limit, setLimit] = useState(before)
  const [isLocal, setLocal] = useState(false)
  const field = useId()
  const isAnother = limit.trim() !== '' && pattern !== '' && (limit.trim() !== before || pattern !== given)
  const request: RuleRequest | undefined = isAnother
    ? { kind: 'set', pattern, limit: limit.trim(), ...(isLocal && { isLocal }) }
    : undefined
  const { preview, problem: fault, again } = usePreview(isLocal ? undefined : request)
  const { isBusy, problem, run, forget } = useDoing(onClose)
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
            How many may wait, and how fast they leave: <code>500, 100/s</code>, <code>20, 100 per 15m</code>,{' '}
            <code>50, every 250ms</code>
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
