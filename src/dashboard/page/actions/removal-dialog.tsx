import { visibleText } from '../data/shown-text.ts'
import { Modal } from '../parts/modal.tsx'
import { ChangeReport } from './change-report.tsx'
import { DialogForm } from './dialog-form.tsx'
import { applyChange } from './rule-requests.ts'
import { Keys } from './scope-choice.tsx'
import { useDoing } from './use-doing.ts'
import { usePreview } from './use-preview.ts'

type Kind = 'unset' | 'reset' | 'unset-local'

interface RemovalDialogProps {
  readonly kind: Kind
  readonly pattern: string
  readonly onClose: () => void
}

const WORDS: Readonly<
  Record<
    Kind,
    { readonly title: string; readonly submit: string; readonly says: string; readonly done: string }
  >
> = {
  unset: {
    title: 'Remove this rule',
    submit: 'Remove rule',
    says: 'Its keys are governed by the next rule that matches, whatever code and file say. Keys that no rule governs are refused.',
    done: 'has no rule any more',
  },
  reset: {
    title: 'Take back what was set by hand',
    submit: 'Reset',
    says: 'What code, file or environment say for this pattern is in force again; if they say nothing, the rule is gone.',
    done: 'is what it was before',
  },
  'unset-local': {
    title: 'Take back the local rule',
    submit: 'Take back',
    says: 'This process follows the rule book again, like every other.',
    done: 'follows the rule book again',
  },
}

/** Takes a rule out of the book, or gives others their say again. */
export function RemovalDialog({ kind, pattern, onClose }: RemovalDialogProps) {
  const { title, submit, says, done } = WORDS[kind]
  const request = { kind, pattern }
  const isLocal = kind === 'unset-local'
  const { preview, problem: fault, again } = usePreview(isLocal ? undefined : request)
  const { isBusy, problem, run, forget } = useDoing(onClose)
  const remove = () => {
    const act = () => applyChange(request, preview?.version)
    void run(act, `${visibleText(pattern)} ${done}.`)
  }
  return (
    <Modal title={title} onClose={onClose}>
      <DialogForm
        submit={submit}
        isReady={isLocal || preview !== undefined}
        isBusy={isBusy}
        isGrave={kind === 'unset'}
        onSubmit={remove}
        onCancel={onClose}
      >
        <p class="scope">
          For <Keys pattern={pattern} />
        </p>
        <p>{says}</p>
        <ChangeReport
          isAsked={!isLocal}
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
