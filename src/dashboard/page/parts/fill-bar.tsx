import type { ComponentChildren } from 'preact'
import { formatPercent, formatShort } from '../data/format.ts'

interface FillBarProps {
  /** Drawn below the bar. */
  readonly children?: ComponentChildren
  readonly waiting: number
  readonly capacity: number
  readonly fill: number
}

/** How much of the line is taken, as a bar and in numbers. */
export function FillBar({ waiting, capacity, fill, children }: FillBarProps) {
  const level = fill >= 1 ? 'is-full' : fill >= 0.8 ? 'is-high' : ''
  return (
    <span class={`fill ${level}`}>
      <span class="fill-bar" aria-hidden="true">
        <span class="fill-part" style={{ transform: `scaleX(${Math.min(1, fill)})` }} />
      </span>
      <span class="fill-share">{formatPercent(fill)}</span>
      <span class="fill-numbers">
        {formatShort(waiting)}
        <span class="of"> / {formatShort(capacity)}</span>
      </span>
      {children}
    </span>
  )
}
