import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface ModalProps {
  readonly title: ComponentChildren
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. The browser keeps the focus inside, closes it on Escape, and restores the focus. */
export function Modal({ title, onClose, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useLayoutEffect(() => {
    const shown = dialog.current!
    shown.showModal()
    return () => shown.close()
  }, [])
  const closeBeside = (event: TargetedMouseEvent<HTMLDialogElement>) => {
    if (event.target === dialog.current) onClose()
  }
  return (
    <dialog ref={dialog} class="modal" aria-labelledby={heading} onClose={onClose} onMouseDown={closeBeside}>
      <div class="modal-body">
        <header class="modal-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" class="button is-bare is-icon" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
