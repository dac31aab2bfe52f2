import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** Something went wrong, or is about to. */
export function ProblemNote({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="note is-bad" role="alert">
      <Icon name="warning" />
      <div>{children}</div>
    </div>
  )
}
