import type { LineJob } from '../../../core/line-view.ts'
import { JobFigure } from './job-figure.tsx'

const KINDS: readonly {
  readonly job: Pick<LineJob, 'state' | 'cost' | 'isTurn'>
  readonly says: string
}[] = [
  { job: { state: 'handed', cost: 1 }, says: 'handed to a worker' },
  { job: { state: 'waiting', cost: 1 }, says: 'waiting' },
  { job: { state: 'retrying', cost: 1 }, says: 'retrying' },
  { job: { state: 'waiting', cost: 1, isTurn: true }, says: 'a turn' },
]

/** The legend of the figures. */
export function Legend() {
  return (
    <ul class="legend" aria-hidden="true">
      {KINDS.map(({ job, says }) => (
        <li key={says} class="line-job">
          <JobFigure job={job} width={20} />
          {says}
        </li>
      ))}
    </ul>
  )
}
