import { useId, useState } from 'preact/hooks'
import { ask, subject } from '../data/api.ts'
import { parseDuration, writeDuration } from '../data/duration.ts'
import { visibleText } from '../data/shown-text.ts'
import { Modal } from '../parts/modal.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { DialogForm } from './dialog-form.tsx'
import { HeldScope, whatOf } from './held-scope.tsx'
import { useSubmit } from './use-submit.ts'

const PRESETS = ['10s', '1m', '5m', '30m', '1h']
const LONGEST_MS = 366 * 86_400_000

interface FreezeDialogProps {
  readonly bucket: string
  readonly onClose: () => void
}

/** Freezes one bucket, or a family. */
export function FreezeDialog({ bucket, onClose }: FreezeDialogProps) {
  const [text, setText] = useState('1m')
  const field = useId()
  const { isBusy, problem, run } = useSubmit(onClose)
  const forMs = parseDuration(text)
  const isGood = forMs !== undefined && forMs <= LONGEST_MS
  const freeze = () => {
    if (!isGood) return
    const act = () => ask(`v1/buckets/${subject(bucket)}/freeze`, { method: 'POST', body: { forMs } })
    void run(act, `${visibleText(bucket)} is frozen for ${writeDuration(forMs)}.`)
  }
  return (
    <Modal title={`Freeze this ${whatOf(bucket)}`} onClose={onClose}>
      <DialogForm
        submit={isGood ? `Freeze for ${writeDuration(forMs)}` : 'Freeze'}
        isReady={isGood}
        isBusy={isBusy}
        onSubmit={freeze}
        onCancel={onClose}
      >
        <p class="scope">
          <HeldScope name={bucket} />
        </p>
        <p>
          No job departs until the time is over. Then departures continue at the rate. New jobs are still
          accepted while there is room.
        </p>
        <div class="field">
          <label for={field}>For how long</label>
          <div class="with-presets">
            <input
              id={field}
              class="input is-short"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
              aria-invalid={!isGood}
              aria-describedby={`${field}-hint`}
              autocomplete="off"
              spellcheck={false}
            />
            <fieldset class="presets" aria-label="Lengths of time">
              {PRESETS.map((preset) => (
                <button
                  key={preset}
                  type="button"
                  class="chip"
                  aria-pressed={preset === text}
                  onClick={() => setText(preset)}
                >
                  {preset}
                </button>
              ))}
            </fieldset>
          </div>
          <p id={`${field}-hint`} class={isGood ? 'hint' : 'hint is-bad'}>
            {isGood
              ? 'A shorter freeze never shortens a longer one. Unfreeze ends it early.'
              : 'Expected a time such as 30s, 5m or 1h30m, at most 366 days.'}
          </p>
        </div>
        {problem !== undefined && <ProblemNote>{problem.message}</ProblemNote>}
      </DialogForm>
    </Modal>
  )
}
