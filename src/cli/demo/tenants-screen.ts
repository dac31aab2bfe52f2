import { SECOND } from '../../core/duration.ts'
import { formatRate } from '../../core/rate.ts'
import { ACCOUNT_LIMIT, FLOOD, OTHER, type TenantsLog } from '../../demo/tenants.ts'
import { paint } from '../terminal.ts'

const SHARING = 10
const NAME = 9
/** A character for each start of the account, and one between. */
const WIDTH = 2 * (FLOOD.jobs.length + OTHER.jobs.length)

/**
 * Renders the tenants: for each way to share the account a row for each of them, and a column for each start of the account. A block is a
 * start of the tenant, a dot says that a job of it waited then.
 */
export function renderTenants(logs: readonly TenantsLog[]): string[] {
  const title = `Two tenants behind one account of ${formatRate(ACCOUNT_LIMIT.rate)}; ${FLOOD.name} sends ${FLOOD.jobs.length} jobs at once`
  return [
    paint('bold', title),
    ...logs.flatMap((log) => ['', renderTenant(log, FLOOD.name), renderTenant(log, OTHER.name)]),
  ]
}

function renderTenant(log: TenantsLog, name: string): string {
  const sharing = name === OTHER.name ? '' : log.isShared ? 'shared' : 'one line'
  const columns = drawStarts(log, name)
  const space = ' '.repeat(WIDTH - 2 * log.starts.length)
  return `${sharing.padEnd(SHARING)}${name.padEnd(NAME)}${columns}${space}  waits up to ${formatWait(log, name)}`
}

export function formatWait(log: TenantsLog, name: string): string {
  return `${(log.longestWaitOf(name) / SECOND).toFixed(2)} s`
}

function drawStarts({ starts, jobs }: TenantsLog, name: string): string {
  const block = paint(name === FLOOD.name ? 'cyan' : 'magenta', '█')
  return starts
    .map(({ tenant, startedAt }) => {
      if (tenant === name) return `${block} `
      const waits = jobs.some(
        (job) => job.tenant === name && job.sentAt < startedAt && !(job.startedAt! < startedAt),
      )
      return waits ? `${paint('gray', '·')} ` : '  '
    })
    .join('')
}
