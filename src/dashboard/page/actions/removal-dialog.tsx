import { isFamily } from '../data/family.ts'
import { visibleText } from '../data/shown-text.ts'
import { Modal } from '../parts/modal.tsx'
import { ChangeReport } from './change-report.tsx'
import { DialogForm } from './dialog-form.tsx'
import { applyChange } from './rule-requests.ts'
import { Keys } from './scope-choice.tsx'
import { usePreview } from './use-preview.ts'
import { useSubmit } from './use-submit.ts'

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
    says: 'The next matching rule applies to its keys, even if code or file set this one. Keys without any rule are refused.',
    done: 'no longer has a rule',
  },
  reset: {
    title: 'Reset what was set by hand',
    submit: 'Reset',
    says: 'The rule of code, file or environment for this pattern is in force again. Without one, the pattern has no rule.',
    done: 'is reset',
  },
  'unset-local': {
    title: 'Remove the local rule',
    submit: 'Remove local rule',
    says: 'This process follows the rule book again, like every other process.',
    done: 'follows the rule book again',
  },
}

const TOTAL_GONE =
  'The sum has no limit any more, even if code or file set this one, unless another pattern of a total matches. Each key keeps its own limit.'

/** Removes a rule, or resets what was set by hand. */
export function RemovalDialog({ kind, pattern, onClose }: RemovalDialogProps) {
  const { title, submit, says, done } = WORDS[kind]
  const request = { kind, pattern }
  const isLocal = kind === 'unset-local'
  const { preview, problem: fault, again } = usePreview(isLocal ? undefined : request)
  const { isBusy, problem, run, forget } = useSubmit(onClose)
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
        <p>{kind === 'unset' && isFamily(pattern) ? TOTAL_GONE : says}</p>
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
