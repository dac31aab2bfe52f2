import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LineJob } from '../../../core/line-view.ts'
import { formatMoment } from '../data/format.ts'
import type { RopePlan } from '../data/rope-plan.ts'
import { visibleText } from '../data/shown-text.ts'
import { GuestFigure } from './guest-figure.tsx'

interface GuestsProps {
  readonly plan: RopePlan
  /** Where the door is, from the left. */
  readonly origin: number
  readonly chosen: string | undefined
  readonly onChoose: (id: string | undefined) => void
}

interface Leaving {
  readonly guest: LineJob
  readonly from: number
}

/** So many are seen to come or to walk out at once; in a crowd nobody would see who did. */
const MOST_MOVING = 3

/** Those who wait, nearest to the door first; each opens what is known of him. The arrow keys walk along the line. */
export function Guests({ plan, origin, chosen, onChoose }: GuestsProps) {
  const { guests } = plan
  const before = useRef(guests)
  const list = useRef<HTMLUListElement>(null)
  const [leaving, setLeaving] = useState<readonly Leaving[]>([])
  const [active, setActive] = useState(0)
  useLayoutEffect(() => {
    const here = new Set(guests.map(({ guest }) => guest.id))
    const gone = before.current.filter(({ guest }) => !here.has(guest.id))
    before.current = guests
    if (gone.length === 0 || gone.length > MOST_MOVING) return
    const out = gone.map(({ guest, at, width }) => ({ guest, from: origin - at - width }))
    setLeaving((others) => [...others, ...out].slice(-MOST_MOVING))
  }, [guests.map(({ guest }) => guest.id).join(' ')])
  const known = new Set(before.current.map(({ guest }) => guest.id))
  const newcomers = guests.filter(({ guest }) => !known.has(guest.id)).length
  const tabbable = Math.min(active, guests.length - 1)
  const walk = (event: TargetedKeyboardEvent<HTMLUListElement>) => {
    const step = { ArrowLeft: 1, ArrowRight: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const to = Math.max(0, Math.min(guests.length - 1, tabbable + step))
    setActive(to)
    list.current!.querySelectorAll('button')[to]?.focus()
  }
  return (
    <>
      <ul ref={list} class="guests" aria-label="Those who wait, the next to depart first" onKeyDown={walk}>
        {guests.map(({ guest, at, width }, index) => (
          <li
            key={guest.id}
            class={`guest-place ${newcomers <= MOST_MOVING && !known.has(guest.id) ? 'is-new' : ''}`}
            style={{ transform: `translateX(${origin - at - width}px)`, width: `${width}px` }}
          >
            <button
              type="button"
              class={guest.id === chosen ? 'guest is-chosen' : 'guest'}
              tabIndex={index === tabbable ? 0 : -1}
              aria-pressed={guest.id === chosen}
              aria-label={`${index + 1}: ${visibleText(guest.id)}, ${wordsOf(guest)}`}
              title={`${visibleText(guest.id)}\n${wordsOf(guest)}`}
              onFocus={() => setActive(index)}
              onClick={() => onChoose(guest.id === chosen ? undefined : guest.id)}
            >
              <GuestFigure guest={guest} width={width} />
            </button>
          </li>
        ))}
      </ul>
      <div aria-hidden="true">
        {leaving.map(({ guest, from }) => (
          <span
            key={guest.id}
            class="guest is-leaving"
            style={{ '--from': `${from}px`, '--to': `${origin + 34}px` }}
            onAnimationEnd={() => setLeaving((others) => others.filter((one) => one.guest !== guest))}
          >
            <GuestFigure guest={guest} width={24} />
          </span>
        ))}
      </div>
    </>
  )
}

function wordsOf(guest: LineJob): string {
  const { state, cost, admittedAt, isTurn } = guest
  const parts = [
    isTurn === true ? `a caller who waits for his turn, ${state}` : state,
    ...(cost > 1 ? [`cost ${cost}`] : []),
    `since ${formatMoment(admittedAt)}`,
  ]
  return parts.join(', ')
}
