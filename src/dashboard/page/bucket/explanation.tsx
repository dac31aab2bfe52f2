import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { JobExplanation } from '../../../core/explanation-view.ts'
import { type ApiProblem, askJson, subject } from '../data/api.ts'
import { departureOf } from '../data/explained.ts'
import { formatClock, formatCount } from '../data/format.ts'
import { asProblem, lock } from '../data/session.ts'
import { Counting } from '../parts/counting.tsx'
import { Icon } from '../parts/icon.tsx'
import { KeyText } from '../parts/key-text.tsx'

/** The interval at which the explanation is refreshed. */
const AGAIN_MS = 2_000
const ENDED: readonly JobExplanation['state'][] = ['completed', 'failed', 'cancelled', 'expired']

interface ExplanationProps {
  readonly id: string
  /** The key of its bucket. */
  readonly bucket: string
  /** The next departure of its bucket. */
  readonly nextDepartureAt: number | undefined
  readonly onChoose: (id: string) => void
  readonly onClose: () => void
}

/** Explains why a job has not departed yet, and when it will. */
export function Explanation({ id, bucket, nextDepartureAt, onChoose, onClose }: ExplanationProps) {
  const [answer, setAnswer] = useState<JobExplanation>()
  const [problem, setProblem] = useState<ApiProblem>()
  const panel = useRef<HTMLElement>(null)
  useLayoutEffect(() => panel.current!.focus({ preventScroll: true }), [])
  useEffect(() => {
    const abort = new AbortController()
    let isOver = false
    const look = async () => {
      if (isOver) return
      try {
        const path = `v1/jobs/${subject(id)}/explanation?key=${encodeURIComponent(bucket)}`
        const got = await askJson<JobExplanation>(path, { signal: abort.signal })
        setAnswer(got)
        setProblem(undefined)
        isOver = ENDED.includes(got.state)
      } catch (error) {
        if (abort.signal.aborted) return
        const met = asProblem(error)
        setProblem(met)
        isOver = met.status === 404
        if (met.status === 401) lock()
      }
    }
    void look()
    const timer = setInterval(() => void look(), AGAIN_MS)
    return () => {
      clearInterval(timer)
      abort.abort()
    }
  }, [])
  return (
    <section
      ref={panel}
      class="card explanation"
      tabIndex={-1}
      aria-labelledby="explanation-title"
      onKeyDown={(event) => {
        if (event.key === 'Escape') onClose()
      }}
    >
      <header class="explanation-head">
        <h2 id="explanation-title">
          Job <KeyText text={id} most={40} />
        </h2>
        <button type="button" class="button is-bare is-icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {problem !== undefined && (
        <p class="hint">
          {problem.status === 404
            ? 'This job is unknown; ended jobs are kept for a while only.'
            : problem.message}
        </p>
      )}
      {answer !== undefined && problem === undefined && (
        <Reasons answer={answer} nextDepartureAt={nextDepartureAt} onChoose={onChoose} />
      )}
    </section>
  )
}

/** Holds with their own end; the others end when the job departs. */
const OWN_END: ReadonlySet<string> = new Set(['frozen', 'backoff'])

interface ReasonsProps {
  readonly answer: JobExplanation
  readonly nextDepartureAt: number | undefined
  readonly onChoose: (id: string) => void
}

function Reasons({ answer, nextDepartureAt, onChoose }: ReasonsProps) {
  const { summary, summaryWithoutTimes, holds, ahead, state, position, isEstimate } = answer
  const departsAt = departureOf(answer, nextDepartureAt)
  return (
    <>
      <p class="explanation-summary">{departsAt === undefined ? summary : summaryWithoutTimes}</p>
      <dl class="explanation-facts">
        <div>
          <dt>State</dt>
          <dd>{state}</dd>
        </div>
        {position !== undefined && (
          <div>
            <dt>Position</dt>
            <dd>{formatCount(position)}</dd>
          </div>
        )}
        {departsAt !== undefined && (
          <div>
            <dt>Departs</dt>
            <dd>
              <Counting at={departsAt} as="until" />
              {isEstimate && <span class="of"> estimate</span>}
            </dd>
          </div>
        )}
        {ahead.jobs > 0 && (
          <div>
            <dt>Jobs ahead</dt>
            <dd>
              {formatCount(ahead.jobs)}
              {ahead.cost !== ahead.jobs && <span class="of"> of cost {formatCount(ahead.cost)}</span>}
            </dd>
          </div>
        )}
      </dl>
      {holds.length > 0 && (
        <ul class="holds">
          {holds.map(({ reason, until, detail }) => (
            <li key={`${reason} ${detail}`}>
              <span class="tag">{reason.replace('-', ' ')}</span>
              <span>{detail}</span>
              {until !== undefined && OWN_END.has(reason) && (
                <span class="hold-until">until {formatClock(until)}</span>
              )}
            </li>
          ))}
        </ul>
      )}
      {ahead.ids.length > 0 && (
        <p class="ahead">
          Ahead:{' '}
          {ahead.ids.map((id) => (
            <button key={id} type="button" class="job-link" onClick={() => onChoose(id)}>
              <KeyText text={id} most={18} />
            </button>
          ))}
        </p>
      )}
    </>
  )
}
