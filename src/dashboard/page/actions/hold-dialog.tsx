import { ask, subject } from '../data/api.ts'
import { visibleText } from '../data/shown-text.ts'
import { Modal } from '../parts/modal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { DialogForm } from './dialog-form.tsx'
import { HeldScope, whatOf } from './held-scope.tsx'
import { useSubmit } from './use-submit.ts'

interface HoldDialogProps {
  readonly verb: 'unfreeze' | 'pause' | 'resume'
  readonly bucket: string
  readonly onClose: () => void
}

const WORDS = {
  unfreeze: {
    title: 'Unfreeze',
    submit: 'Unfreeze',
    done: 'no longer frozen',
    says: 'Departures continue at the rate; missed departures are not made up for. A pause stays in force.',
    path: 'freeze',
    method: 'DELETE',
  },
  pause: {
    title: 'Pause',
    submit: 'Pause',
    done: 'paused',
    says: 'No job departs until it is resumed. New jobs are still accepted while there is room.',
    path: 'pause',
    method: 'POST',
  },
  resume: {
    title: 'Resume',
    submit: 'Resume',
    done: 'resumed',
    says: 'Departures continue at the rate; missed departures are not made up for. A freeze stays in force.',
    path: 'resume',
    method: 'POST',
  },
} as const

/** Unfreezes, pauses or resumes one bucket. */
export function HoldDialog({ verb, bucket, onClose }: HoldDialogProps) {
  const { isBusy, problem, run } = useSubmit(onClose)
  const { title, submit, done, says, path, method } = WORDS[verb]
  const hold = () => {
    const act = () => ask(`v1/buckets/${subject(bucket)}/${path}`, { method })
    void run(act, `${visibleText(bucket)} is ${done}.`)
  }
  return (
    <Modal title={`${title} this ${whatOf(bucket)}`} onClose={onClose}>
      <DialogForm submit={submit} isReady isBusy={isBusy} onSubmit={hold} onCancel={onClose}>
        <p class="scope">
          <HeldScope name={bucket} />
        </p>
        <p>{says}</p>
        {problem !== undefined && <ProblemNote>{problem.message}</ProblemNote>}
      </DialogForm>
    </Modal>
  )
}
