import type { ComponentChildren, TargetedEvent } from 'preact'

interface DialogFormProps {
  readonly submit: string
  readonly isReady: boolean
  readonly isBusy: boolean
  /** The action removes something. */
  readonly isGrave?: boolean
  readonly onSubmit: () => void
  readonly onCancel: () => void
  readonly children: ComponentChildren
}

/** The form of a dialog, with its two buttons. */
export function DialogForm(props: DialogFormProps) {
  const { submit, isReady, isBusy, isGrave = false, onSubmit, onCancel, children } = props
  const send = (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (isReady && !isBusy) onSubmit()
  }
  return (
    <form class="dialog-form" onSubmit={send} noValidate>
      {children}
      <footer class="modal-foot">
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
        <button
          type="submit"
          class={`button is-main ${isGrave ? 'is-grave' : ''}`}
          aria-disabled={!isReady || isBusy}
        >
          {isBusy ? 'Working…' : submit}
        </button>
      </footer>
    </form>
  )
}
