import { useLayoutEffect, useRef } from 'preact/hooks'
import { serverClock } from '../clock.ts'
import { formatAgo, formatCountdown, formatMoment, formatSpan } from '../data/format.ts'
import { everyTick } from '../data/ticker.ts'

const WORDS = {
  until: (ms: number) => formatCountdown(ms),
  since: (ms: number) => formatSpan(-ms),
  ago: (ms: number) => formatAgo(-ms),
} as const

interface CountingProps {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly as: keyof typeof WORDS
}

/** A time that counts by itself: the ticker writes its text without rendering. */
export function Counting({ at, as }: CountingProps) {
  const element = useRef<HTMLTimeElement>(null)
  useLayoutEffect(() => {
    const cell = element.current!
    return everyTick(cell, () => {
      const text = WORDS[as](at - serverClock.now())
      if (cell.textContent !== text) cell.textContent = text
    })
  }, [at, as])
  return <time ref={element} dateTime={new Date(at).toISOString()} title={formatMoment(at)} />
}
