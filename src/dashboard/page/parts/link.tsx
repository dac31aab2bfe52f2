import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { type View, writePageUrl } from '../data/page-url.ts'
import { go } from '../data/route.ts'

interface LinkProps {
  readonly to: View
  readonly class?: string
  readonly isCurrent?: boolean
  readonly title?: string
  readonly children: ComponentChildren
}

/** A real link, which can be opened in another tab; a plain click navigates within the page. */
export function Link({ to, isCurrent, children, ...rest }: LinkProps) {
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    go(to)
    scrollTo(0, 0)
  }
  const url = writePageUrl(to)
  return (
    <a
      href={url === '' ? './' : url}
      onClick={follow}
      aria-current={isCurrent === true ? 'page' : undefined}
      {...rest}
    >
      {children}
    </a>
  )
}
