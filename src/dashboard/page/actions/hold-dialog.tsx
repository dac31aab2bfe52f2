import { ask, subject } from '../data/api.ts'
import { visibleText } from '../data/shown-text.ts'
import { KeyText } from '../parts/key-text.tsx'
import { Modal } from '../parts/modal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { DialogForm } from './dialog-form.tsx'
import { useDoing } from './use-doing.ts'

interface HoldDialogProps {
  readonly verb: 'pause' | 'resume'
  readonly bucket: string
  readonly onClose: () => void
}

const WORDS = {
  pause: {
    title: 'Pause this bucket',
    submit: 'Pause',
    done: 'paused',
    says: 'Nothing departs until somebody resumes it. Newcomers still line up, while there is room.',
  },
  resume: {
    title: 'Resume this bucket',
    submit: 'Resume',
    done: 'resumed',
    says: 'Departures go on at the rate; what was missed is not made up for. A freeze stays in force.',
  },
} as const

/** Pauses or resumes one bucket. */
export function HoldDialog({ verb, bucket, onClose }: HoldDialogProps) {
  const { isBusy, problem, run } = useDoing(onClose)
  const { title, submit, done, says } = WORDS[verb]
  const hold = () => {
    const act = () => ask(`v1/buckets/${subject(bucket)}/${verb}`, { method: 'POST' })
    void run(act, `${visibleText(bucket)} is ${done}.`)
  }
  return (
    <Modal title={title} onClose={onClose}>
      <DialogForm submit={submit} isReady isBusy={isBusy} onSubmit={hold} onCancel={onClose}>
        <p class="scope">
          This bucket only: <KeyText text={bucket} />
        </p>
        <p>{says}</p>
        {problem !== undefined && <ProblemNote>{problem.message}</ProblemNote>}
      </DialogForm>
    </Modal>
  )
}
