import { checkHistory } from '../conformance/conformance.ts'
import type { Breach } from '../conformance/history.ts'
import { monotonicNow } from '../core/clock.ts'
import { MILLISECOND } from '../core/duration.ts'
import { type Limit, parseLimit } from '../core/limit.ts'
import { Shaper } from '../shaper/shaper.ts'
import { recordHistory } from '../testing/record-history.ts'
import { callApi, RefusedError } from './api-call.ts'
import type { ApiClient } from './api-client.ts'
import { waitUntil } from './bursts.ts'
import { LEAST_UTILISATION, LONGEST_DRAIN_MS } from './shaped-run.ts'
import type { ApiCall } from './strict-api.ts'

/** A tenant, and when it sends its jobs; milliseconds from the beginning. */
export interface Tenant {
  readonly name: string
  readonly jobs: readonly number[]
}

export const FLOOD: Tenant = { name: 'initech', jobs: new Array<number>(8).fill(0) }
/** Sends a job now and then. */
export const OTHER: Tenant = { name: 'acme', jobs: [100, 500, 900, 1_300] }

/** All jobs by time; microseconds. */
const PLAN = [FLOOD, OTHER]
  .flatMap(({ name, jobs }) => jobs.map((atMs) => ({ tenant: name, at: atMs * MILLISECOND })))
  .sort((one, other) => one.at - other.at)

/** What the account may do: its one line, or the total of its tenants. */
export const ACCOUNT_LIMIT: Limit = parseLimit('60, 5/s')
const [ONE_LINE, SHARED] = ['one-line', 'shared'] as const
const LIMITS = {
  [ONE_LINE]: { [ONE_LINE]: '60, 5/s' },
  // The same tolerance: neither may start closer than the other.
  [SHARED]: { [`${SHARED}/*`]: '60, 5/s', [`${SHARED}/`]: '60, 5/s, tolerance 5ms' },
} as const

/** The accounts of the API that this part calls, by the way in which their tenants share them. */
export const SHARED_ACCOUNTS = [ONE_LINE, SHARED].map((key) => ({ key, limit: ACCOUNT_LIMIT, bursts: [] }))

/** A job of a tenant. Microseconds. */
export interface TenantJob {
  readonly tenant: string
  readonly sentAt: number
  startedAt?: number
}

/** The record of two tenants behind one account. */
export class TenantsLog {
  /** How the account is shared, which is its name at the API. */
  readonly key: string
  readonly startedAt: number
  readonly jobs: TenantJob[] = []
  readonly calls: ApiCall[] = []
  readonly errors: string[] = []
  breaches: readonly Breach[] = []

  constructor(key: string, startedAt = monotonicNow()) {
    this.key = key
    this.startedAt = startedAt
  }

  get isShared(): boolean {
    return this.key === SHARED
  }

  /** The jobs that have started, in the order of their starts. */
  get starts(): (TenantJob & { readonly startedAt: number })[] {
    const started = this.jobs.filter((job) => job.startedAt !== undefined) as Required<TenantJob>[]
    return started.sort((one, other) => one.startedAt - other.startedAt)
  }

  /** The longest wait of a job of the tenant that has started, in microseconds. */
  longestWaitOf(name: string): number {
    const waits = this.starts.flatMap(({ tenant, sentAt, startedAt }) =>
      tenant === name ? [startedAt - sentAt] : [],
    )
    return Math.max(0, ...waits)
  }
}

/** Starts both accounts: each has the same tenants, who send the same jobs. */
export function openTenants(): readonly TenantsLog[] {
  const at = monotonicNow()
  return SHARED_ACCOUNTS.map(({ key }) => new TenantsLog(key, at))
}

/** Sends the jobs of the tenants to both accounts at once. Resolves when all lines are empty. */
export async function runTenants(logs: readonly TenantsLog[], client: ApiClient): Promise<void> {
  await Promise.all(logs.map((log) => runAccount(log, client)))
}

async function runAccount(log: TenantsLog, client: ApiClient): Promise<void> {
  const { key, startedAt, jobs, errors, isShared } = log
  const shaper = new Shaper<number>(`demo ${key}`, { limits: LIMITS[isShared ? SHARED : ONE_LINE] })
  const recording = recordHistory(shaper)
  shaper
    .on('failed', ({ error }) => {
      if (!(error instanceof RefusedError)) errors.push(error.message)
    })
    .work((job) => {
      jobs[job.data]!.startedAt = monotonicNow()
      return callApi(client, key)
    })
  for (const { at, tenant } of PLAN) {
    await waitUntil(startedAt + at)
    const nth = jobs.push({ tenant, sentAt: monotonicNow() }) - 1
    const admission = await shaper.enqueue(isShared ? `${key}/${tenant}` : key, nth)
    if (!admission.accepted) errors.push(`${key}: a job of ${tenant} was rejected as ${admission.reason}`)
  }
  await shaper.close({ drainMs: LONGEST_DRAIN_MS })
  await recording.audit()
  log.breaches = checkHistory(recording.history, { minUtilisation: LEAST_UTILISATION })
}
