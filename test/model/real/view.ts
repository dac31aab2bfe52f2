import type { Redis } from 'ioredis'
import { withLibraries } from '../../../src/redis/scripts/script.ts'

export const LIBRARIES =
  'shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting head member summed chain total overdue share standing places'.split(
    ' ',
  )

/** A function for scripts that look at what the store holds. */
export const ALL_AS_TEXTS = `local function all(value)
    if type(value) == 'boolean' then return value and '1' or '0' end
    if type(value) == 'number' then return string.format('%.17g', value) end
    if type(value) ~= 'table' then return value end
    local texts = {}
    for name, part in pairs(value) do texts[name] = all(part) end
    return texts
  end`

/** What the store holds of a bucket and of the shard, read with the store's own functions. Numbers are texts. */
const SCRIPT = withLibraries(
  '#!lua flags=no-writes',
  LIBRARIES,
  `${ALL_AS_TEXTS}
  local meta = read_meta()
  local leader = redis.call('HMGET', K.meta, 'leader', 'leaderUntil')
  meta.leader, meta.leaderUntil = leader[1] or '', tonumber(leader[2] or 0)
  local bucket, place = read_bucket(ARGV[1]), nil
  local lists = { line = {}, handed = {}, retry = {}, back = {} }
  if bucket then
    lists.line = redis.call('LRANGE', block_key(bucket, bucket.front), 0, -1)
    for name in pairs(COUNTS) do
      local command = COUNTS[name].command == 'LLEN' and 'LRANGE' or 'ZRANGE'
      lists[name] = redis.call(command, K[name] .. bucket.n, 0, -1)
    end
    bucket.due = tonumber(redis.call('ZSCORE', K.due, ARGV[1]) or INF)
  end
  local quotas, is_forward = {}, false
  if bucket then is_forward = usage.of(bucket) ~= nil and forward.by() ~= 0 end
  if bucket then
    local parts, use = usage.of(bucket)
    for index, one in ipairs(use or {}) do
      local part, entries = parts.counted[index], {}
      for entry, end_ in ipairs(one.ends) do entries[entry] = string.format('%d %d', end_, one.used[entry]) end
      quotas[index] = { name = string.format('%s per %d', part.unit or 'units', part.length), isPast = part.over ~= nil, entries = entries }
    end
    place, bucket.member, bucket.use, bucket.parts = bucket.member, nil, nil, nil
    if place then place.idleAt = tonumber(redis.call('ZSCORE', K.idle, ARGV[1]) or INF) end
  end
  local jobs = {}
  for index = 2, #ARGV do
    local id = ARGV[index]
    local job, state = read_job(id), read_state(id)
    if job then
      state.lease = lease_end(meta, id) or INF
      state.deadline, state.expiry = job.deadline, tonumber(redis.call('ZSCORE', K.deadlines, id) or INF)
      jobs[id] = state
    end
  end
  return cjson.encode({ meta = all(meta), bucket = bucket and all(bucket) or nil, place = place and all(place) or nil, quotas = quotas, isForward = is_forward, lists = lists, jobs = all(jobs) })`,
)

export type Texts = Readonly<Record<string, string>>

export interface StoreView {
  readonly meta: Texts
  readonly bucket?: Texts
  /** Its place below totals. */
  readonly place?: Texts & { readonly slots: readonly string[] }
  /** Those of the limit, and then those that are remembered, in any order; each with its entries as `end used`. */
  readonly quotas: readonly {
    readonly name: string
    readonly isPast: boolean
    readonly entries: readonly string[]
  }[]
  /** What quotas count has moved with a clock that was set forward. */
  readonly isForward: boolean
  readonly lists: Readonly<Record<'line' | 'handed' | 'retry' | 'back', readonly string[]>>
  readonly jobs: Readonly<Record<string, Texts>>
}

export async function viewOf(
  redis: Redis,
  tag: string,
  key: string,
  ids: readonly string[],
): Promise<StoreView> {
  const { lists, quotas, ...view } = JSON.parse(String(await redis.eval(SCRIPT, 1, tag, key, ...ids)))
  // An empty table of Lua has no kind of its own.
  const listed = (name: string): readonly string[] => (Array.isArray(lists[name]) ? lists[name] : [])
  const [line, handed] = [listed('line'), listed('handed')]
  const listOf = (found: unknown) => (Array.isArray(found) ? found : [])
  const counted = listOf(quotas).map((one) => ({ ...one, entries: listOf(one.entries) }))
  return { ...view, quotas: counted, lists: { line, handed, retry: listed('retry'), back: listed('back') } }
}
