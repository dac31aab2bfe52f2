import type { TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { LineJob } from '../../../core/line-view.ts'
import { formatMoment } from '../data/format.ts'
import type { LineLayout } from '../data/line-layout.ts'
import { visibleText } from '../data/shown-text.ts'
import { JobFigure } from './job-figure.tsx'

interface LineJobsProps {
  readonly plan: LineLayout
  /** The place of the departure, from the left. */
  readonly origin: number
  readonly chosen: string | undefined
  readonly onChoose: (id: string | undefined) => void
}

interface Leaving {
  readonly job: LineJob
  readonly from: number
}

/** At most this many jobs are animated at once. */
const MOST_MOVING = 3

/** The waiting jobs, next departure first; each is a button for its explanation. The arrow keys move along the line. */
export function LineJobs({ plan, origin, chosen, onChoose }: LineJobsProps) {
  const { jobs } = plan
  const before = useRef(jobs)
  const list = useRef<HTMLUListElement>(null)
  const [leaving, setLeaving] = useState<readonly Leaving[]>([])
  const [active, setActive] = useState(0)
  useLayoutEffect(() => {
    const here = new Set(jobs.map(({ job }) => job.id))
    const gone = before.current.filter(({ job }) => !here.has(job.id))
    before.current = jobs
    if (gone.length === 0 || gone.length > MOST_MOVING) return
    const out = gone.map(({ job, at, width }) => ({ job, from: origin - at - width }))
    setLeaving((others) => [...others, ...out].slice(-MOST_MOVING))
  }, [jobs.map(({ job }) => job.id).join(' ')])
  const known = new Set(before.current.map(({ job }) => job.id))
  const arrivals = jobs.filter(({ job }) => !known.has(job.id)).length
  const tabbable = Math.min(active, jobs.length - 1)
  const walk = (event: TargetedKeyboardEvent<HTMLUListElement>) => {
    const step = { ArrowLeft: 1, ArrowRight: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const to = Math.max(0, Math.min(jobs.length - 1, tabbable + step))
    setActive(to)
    list.current!.querySelectorAll('button')[to]?.focus()
  }
  return (
    <>
      <ul ref={list} class="line-jobs" aria-label="Waiting jobs, next departure first" onKeyDown={walk}>
        {jobs.map(({ job, at, width }, index) => (
          <li
            key={job.id}
            class={`line-place ${arrivals <= MOST_MOVING && !known.has(job.id) ? 'is-new' : ''}`}
            style={{ transform: `translateX(${origin - at - width}px)`, width: `${width}px` }}
          >
            <button
              type="button"
              class={job.id === chosen ? 'line-job is-chosen' : 'line-job'}
              tabIndex={index === tabbable ? 0 : -1}
              aria-pressed={job.id === chosen}
              aria-label={`${index + 1}: ${visibleText(job.id)}, ${wordsOf(job)}`}
              title={`${visibleText(job.id)}\n${wordsOf(job)}`}
              onFocus={() => setActive(index)}
              onClick={() => onChoose(job.id === chosen ? undefined : job.id)}
            >
              <JobFigure job={job} width={width} />
            </button>
          </li>
        ))}
      </ul>
      <div aria-hidden="true">
        {leaving.map(({ job, from }) => (
          <span
            key={job.id}
            class="line-job is-leaving"
            style={{ '--from': `${from}px`, '--to': `${origin + 34}px` }}
            onAnimationEnd={() => setLeaving((others) => others.filter((one) => one.job !== job))}
          >
            <JobFigure job={job} width={24} />
          </span>
        ))}
      </div>
    </>
  )
}

function wordsOf(job: LineJob): string {
  const { state, cost, admittedAt, isTurn } = job
  const parts = [
    isTurn === true ? `a turn, ${state}` : state,
    ...(cost > 1 ? [`cost ${cost}`] : []),
    `since ${formatMoment(admittedAt)}`,
  ]
  return parts.join(', ')
}
