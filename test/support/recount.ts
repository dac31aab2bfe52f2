import type { Redis } from 'ioredis'
import { z } from 'zod'
import { isTotal } from '../../src/core/key.ts'
import { withLibraries } from '../../src/redis/scripts/script.ts'
import { isTurnId } from './turn-id.ts'

const LIBRARIES =
  'shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting member summed chain total overdue'.split(
    ' ',
  )

/**
 * Tells what a shard holds: its sets, or a page of its buckets with their lists, or of its jobs with their states. The pages are
 * small, because other tests wait for the same server.
 */
const SCRIPT = withLibraries(
  '#!lua flags=no-writes',
  LIBRARIES,
  `local part, cursor = ARGV[1], ARGV[2]
  local wrong_totals
  local function sets()
    local recounted = { wrongTotals = wrong_totals(), quotas = redis.call('HKEYS', K.quotas), kept = {}, units = { tonumber(redis.call('HGET', K.meta, 'kept') or 0), 0, 0 } }
    for _, name in ipairs({ 'due', 'turns', 'idle', 'leases', 'deadlines', 'ended', 'gone', 'fill' }) do recounted[name] = redis.call('ZRANGE', K[name], 0, -1) end
    local shares = redis.call('ZRANGE', K.shares, 0, -1, 'WITHSCORES')
    for at = 1, #shares, 2 do
      recounted.units[2] = recounted.units[2] + tonumber(shares[at + 1])
      for _, entry in ipairs(redis.call('LRANGE', K.kept .. redis.sha1hex(shares[at]), 0, -1)) do
        local id, _, units = string.match(entry, '^(%S+) (%d+) (%d+) %d+$')
        recounted.kept[#recounted.kept + 1] = id
        recounted.units[3] = recounted.units[3] + tonumber(units)
      end
    end
    return recounted
  end
  -- What totals count, and who stands where below them, against what the buckets themselves say.
  function wrong_totals()
    local wrong, sums = {}, {}
    local function add(path, name, value)
      sums[path] = sums[path] or {}
      sums[path][name] = (sums[path][name] or 0) + value
    end
    local function count_child(path, name, child)
      add(path, 'children', 1)
      if child.standing == 1 then
        add(path, 'takers', 1)
        add(path, 'weights', family.weigh(child.weight))
      end
      local n = family.total(path).n
      local places = 0
      for _, set in ipairs({ 'later', 'ready' }) do places = places + (redis.call('ZSCORE', K[set] .. n, name) and 1 or 0) end
      if places ~= (child.standing == 0 and 0 or 1) then wrong[#wrong + 1] = name .. ' stands at ' .. places .. ' places of ' .. path end
    end
    -- What is in hand by the epochs up to which it is marked, and overdue.
    local function count_in_hand(total, b)
      for _, member in ipairs(total.markedTo > 0 and redis.call('LRANGE', K.handed .. b.suffix, 0, -1) or {}) do
        local id, cost = parse_member(member)
        local epoch = id == b.granted and INF or read_state(id).epoch
        for name, up_to in pairs({ marked = total.markedTo, overdue = total.overdueTo }) do
          if epoch <= up_to then
            add(total.key, name, cost)
            add(total.key, name .. 'Jobs', 1)
          end
        end
      end
    end
    -- What has no slot counts in the quotas of the total, and nothing else does.
    local function count_in_quotas(total, b)
      local parts = total.handed > 0 and usage.of(total)
      for _, member in ipairs(parts and redis.call('LRANGE', K.handed .. b.suffix, 0, -1) or {}) do
        local id, cost = parse_member(member)
        local charges = id ~= b.granted and usage.charges_of(parts, id, cost) or {}
        for at in ipairs(parts.quotas) do add(total.key, at, charges[at] or 0) end
      end
    end
    local records = redis.call('HGETALL', K.buckets)
    for index = 1, #records, 2 do
      local b = parse_bucket(records[index], records[index + 1])
      for level, total in ipairs(b.member and family.totals_of(b) or {}) do
        count_in_quotas(total, b)
        for _, name in ipairs({ 'waiting', 'running', 'inHanded', 'handed', 'turns' }) do add(total.key, name, b[name]) end
        add(total.key, 'grants', b.granted ~= '' and 1 or 0)
        count_in_hand(total, b)
        if level == 1 then count_child(total.key, b.key, b.member) end
      end
    end
    for _, path in ipairs(redis.call('HKEYS', K.totals)) do
      local total = family.total(path)
      if total.parent ~= '' then
        count_child(total.parent, path, total)
        for _, set in ipairs({ 'due', 'turns' }) do
          if redis.call('ZSCORE', K[set], path) then wrong[#wrong + 1] = path .. ' stands in ' .. set .. ', and its outermost total does' end
        end
      end
    end
    for _, path in ipairs(redis.call('HKEYS', K.totals)) do
      local total, counted = family.total(path), sums[path] or {}
      for _, name in ipairs({ 'waiting', 'running', 'inHanded', 'handed', 'turns', 'grants', 'children', 'takers', 'weights', 'marked', 'markedJobs', 'overdue', 'overdueJobs' }) do
        if total[name] ~= (counted[name] or 0) then wrong[#wrong + 1] = path .. ' has ' .. name .. ' ' .. total[name] .. ', not ' .. (counted[name] or 0) end
      end
      local parts = total.handed > 0 and usage.of(total)
      for at in ipairs(parts and parts.quotas or {}) do
        local handed, most = total.handedUse[at] or 0, counted[at] or 0
        if handed > most then wrong[#wrong + 1] = path .. ' has ' .. handed .. ' in hand in its quota ' .. at .. ', not ' .. most end
      end
    end
    return wrong
  end
  local function line_of(b)
    local members = redis.call('LRANGE', block_key(b, b.front), 0, -1)
    for _, block in ipairs(redis.call('ZRANGE', K.blocks .. b.n, 0, -1)) do
      for _, member in ipairs(redis.call('LRANGE', block_key(b, tonumber(block)), 0, -1)) do members[#members + 1] = member end
    end
    return members
  end
  local function has_its_sums(b, members)
    local _, use = usage.of(b)
    for _, one in ipairs(use or {}) do
      local sum = 0
      for _, units in ipairs(one.used) do sum = sum + units end
      if one.raw and one.sum ~= nil and one.sum ~= sum then return false end
    end
    for unit, sum in pairs(use and use.sums or {}) do
      local jobs, units = 0, 0
      for _, member in ipairs(members) do
        local id = parse_member(member)
        local costs = id ~= b.granted and usage.costs_text(read_job(id).settings)
        local named = costs and cjson.decode(costs)[unit]
        if named then jobs, units = jobs + 1, units + named end
      end
      if sum.jobs ~= jobs or sum.units ~= units then return false end
    end
    return true
  end
  local found_in = {}
  function found_in.buckets(key)
    local b = read_bucket(key)
    local lists = {
      line = line_of(b), handed = redis.call('LRANGE', K.handed .. b.n, 0, -1),
      retry = redis.call('ZRANGE', K.retry .. b.n, 0, -1), back = redis.call('ZRANGE', K.back .. b.n, 0, -1),
    }
    local members = {}
    for _, list in pairs(lists) do
      for _, member in ipairs(list) do members[#members + 1] = member end
    end
    return {
      key = key, waiting = b.waiting, handed = b.handed, returned = b.returned, running = b.running,
      granted = b.granted, grantedCost = b.grantedCost, paused = b.paused == 1, counts = { b.inLine, b.inHanded, b.inRetry, b.inBack },
      turns = b.turns, isDue = due_of(b) < INF, hasQuotas = usage.of(b) ~= nil and #usage.of(b).counted > 0,
      hasStarted = b.lastStart > -INF or b.granted ~= '',
      isAsFull = tonumber(redis.call('ZSCORE', K.fill, key) or -1) == b.waiting / b.capacity,
      hasItsSums = has_its_sums(b, members), lists = lists, isBelow = b.member ~= nil, isOut = b.member ~= nil and b.member.standing == 0,
    }
  end
  function found_in.jobs(id)
    local state, job = read_state(id), read_job(id)
    return { id = id, key = job.key, state = state.state, kind = state.kind, worker = state.worker, hasDeadline = job.deadline < INF }
  end
  if part == 'sets' then return cjson.encode(sets()) end
  local page, found = redis.call('HSCAN', K[part], cursor, 'COUNT', 100), {}
  for at = 1, #page[2], 2 do found[#found + 1] = found_in[part](page[2][at]) end
  return cjson.encode({ cursor = page[1], found = found })`,
)

/** An empty table of Lua has no kind of its own. */
const listOf = <Item extends z.ZodType>(item: Item) =>
  z.union([z.array(item), z.strictObject({}).transform((): z.output<Item>[] => [])])
const names = listOf(z.string())
const number = z.number()
const setsSchema = z.strictObject({
  due: names,
  turns: names,
  idle: names,
  leases: names,
  deadlines: names,
  ended: names,
  kept: names,
  /** What the shard has counted, its segments, and the jobs themselves. */
  units: z.tuple([number, number, number]),
  gone: names,
  fill: names,
  quotas: names,
  wrongTotals: names,
})
const bucketSchema = z.strictObject({
  key: z.string(),
  waiting: number,
  handed: number,
  returned: number,
  running: number,
  granted: z.string(),
  grantedCost: number,
  paused: z.boolean(),
  counts: z.tuple([number, number, number, number]),
  turns: number,
  isDue: z.boolean(),
  hasQuotas: z.boolean(),
  hasStarted: z.boolean(),
  isAsFull: z.boolean(),
  hasItsSums: z.boolean(),
  /** It is below totals, and out: it takes no part. */
  isBelow: z.boolean(),
  isOut: z.boolean(),
  lists: z.strictObject({ line: names, handed: names, retry: names, back: names }),
})
const jobSchema = z.strictObject({
  id: z.string(),
  key: z.string(),
  state: z.string(),
  kind: z.enum(['line', 'retry', 'back']),
  worker: z.string(),
  hasDeadline: z.boolean(),
})

/** Made once: a schema that is new is compiled again when it first parses, which takes longer than the page. */
const bucketsSchema = pageOf(bucketSchema)
const jobsSchema = pageOf(jobSchema)

function pageOf<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ cursor: z.string(), found: listOf(item) })
}

type Bucket = z.output<typeof bucketSchema>
type Job = z.output<typeof jobSchema>
type Shard = z.output<typeof setsSchema> & {
  readonly buckets: readonly Bucket[]
  readonly jobs: readonly Job[]
}

const ENDED = ['completed', 'failed', 'cancelled', 'expired']
const idOf = (member: string) => member.split(' ')[0]!
const units = (members: readonly string[]) =>
  members.reduce((sum, member) => sum + Number(member.split(' ')[1] ?? 1), 0)

async function readShard(redis: Redis, tag: string): Promise<Shard> {
  const ask = async (...words: string[]): Promise<unknown> =>
    JSON.parse(String(await redis.eval(SCRIPT, 1, tag, ...words)))
  const pages = async <Item>(
    part: string,
    schema: z.ZodType<{ readonly cursor: string; readonly found: readonly Item[] }>,
    nameOf: (item: Item) => string,
  ) => {
    // While Redis enlarges a hash, it may name an entry twice.
    const found = new Map<string, Item>()
    let cursor = '0'
    do {
      const page = schema.parse(await ask(part, cursor))
      for (const one of page.found) found.set(nameOf(one), one)
      cursor = page.cursor
    } while (cursor !== '0')
    return [...found.values()]
  }
  return {
    ...setsSchema.parse(await ask('sets')),
    buckets: await pages('buckets', bucketsSchema, ({ key }) => key),
    jobs: await pages('jobs', jobsSchema, ({ id }) => id),
  }
}

/** What does not add up in a shard that is at rest: counters against lists, lists against states, and the sets of what is due. */
export async function recount(redis: Redis, tag: string): Promise<string[]> {
  const shard = await readShard(redis, tag)
  const faults = shard.buckets.flatMap((bucket) => ofBucket(bucket, shard))
  const strangers = shard.fill.filter((key) => shard.buckets.every((bucket) => bucket.key !== key))
  faults.push(...strangers.map((key) => `${key}: among the full, and no bucket`))
  faults.push(...shard.wrongTotals)
  const usages = shard.quotas.filter(
    (key) => !isTotal(key) && shard.buckets.every((bucket) => bucket.key !== key || !bucket.hasQuotas),
  )
  faults.push(...usages.map((key) => `${key}: has a usage, and no quotas`))
  const [ended, kept] = [[...shard.ended].sort(), [...shard.kept].sort()].map(String)
  if (ended !== kept) faults.push(`ended jobs: ${ended}, among those of segments: ${kept}`)
  if (new Set(shard.units).size > 1) faults.push(`units of ended jobs, counted thrice: ${shard.units}`)
  return [...faults, ...shard.jobs.flatMap((job) => ofJob(job, shard))]
}

function ofBucket(bucket: Bucket, { jobs, due, turns, idle, quotas }: Shard): string[] {
  const { key, lists } = bucket
  const { line, handed, retry, back } = lists
  const own = jobs.filter((job) => job.key === key)
  const everyone = [...line, ...handed, ...retry, ...back]
  const inState = (state: string) => own.filter((job) => job.state === state)
  // One has a slot, the others of a run follow it.
  const granted = inState('granted')
  const { isBelow } = bucket
  const isPlaced = isBelow ? bucket.isDue && !bucket.isOut : due.includes(key) || turns.includes(key)
  // Where the next one is a job for which there is no room, the bucket stands among those of jobs.
  const mayBeHeldUp = due.includes(key) && retry.length + back.length > 0
  const isEmpty = everyone.length === 0 && bucket.running === 0
  const checks = [
    ['members', String(bucket.counts), String([line, handed, retry, back].map(({ length }) => length))],
    ['waiting', bucket.waiting, units(everyone)],
    ['handed', bucket.handed, units(handed) - bucket.grantedCost],
    ['returned', bucket.returned, units(retry) + units(back)],
    ['running', bucket.running, inState('running').length],
    ['granted by state', bucket.granted === '' || granted.some(({ id }) => id === bucket.granted), true],
    ['granted at the head', bucket.granted, bucket.granted === '' ? '' : idOf(handed[0] ?? '')],
    ['workers of a run', Math.max(1, new Set(granted.map(({ worker }) => worker)).size), 1],
    ['members that are there once', everyone.length, new Set(everyone.map(idOf)).size],
    ['as full as the set says', bucket.isAsFull, true],
    ['has its sums', bucket.hasItsSums, true],
    ['turns', bucket.turns, line.filter(isTurnId).length],
    ['among those due, or full', bucket.isDue, isPlaced || (bucket.isDue && handed.length > 0)],
    ['in the set of both', due.includes(key) && turns.includes(key), false],
    ['among turns', turns.includes(key), !isBelow && isPlaced && isTurnId(line[0] ?? '') && !mayBeHeldUp],
    ['among those due by itself', due.includes(key) && isBelow, false],
    ['has its usage', quotas.includes(key) || !bucket.hasQuotas || !bucket.hasStarted, true],
    ['idle', isEmpty && !bucket.paused, idle.includes(key)],
  ] as const
  return checks.flatMap(([what, has, counted]) =>
    has === counted ? [] : [`${key}: ${what}: ${has}, expected ${counted}`],
  )
}

function ofJob({ id, key, state, kind, hasDeadline }: Job, shard: Shard): string[] {
  const bucket = shard.buckets.find((bucket) => bucket.key === key)
  const lists = Object.entries(bucket?.lists ?? {})
  const places = lists.flatMap(([list, members]) => (members.map(idOf).includes(id) ? [list] : []))
  const isHeld = state === 'handed' || state === 'granted'
  const place = state === 'waiting' ? 'line' : state === 'retrying' ? kind : isHeld ? 'handed' : ''
  const isLeased = isHeld || state === 'running' || (isTurnId(id) && state === 'waiting')
  const isEnded = ENDED.includes(state)
  const mayExpire = hasDeadline && (state === 'waiting' || state === 'retrying' || isHeld)
  const checks = [
    ['stands in', places.join(), place],
    ['has a bucket', bucket !== undefined || isEnded, true],
    ['among those that ended', shard.ended.includes(id), isEnded && !isTurnId(id)],
    ['among those that are gone', shard.gone.includes(id), isEnded && isTurnId(id)],
    ['has a lease', shard.leases.includes(id), isLeased],
    ['has a deadline', shard.deadlines.includes(id) || !mayExpire, true],
  ] as const
  return checks.flatMap(([what, has, expected]) =>
    has === expected ? [] : [`${id} (${state}): ${what}: ${has}, expected ${expected}`],
  )
}
