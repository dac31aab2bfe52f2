import type { ComponentChildren } from 'preact'
import { Icon } from './icon.tsx'

/** A note about a problem. */
export function ProblemNote({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="note is-bad" role="alert">
      <Icon name="warning" />
      <div>{children}</div>
    </div>
  )
}
