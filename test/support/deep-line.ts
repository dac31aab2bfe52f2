import type { Redis } from 'ioredis'
import { withLibraries } from '../../src/redis/scripts/script.ts'

const LIBRARIES =
  'shard forward lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line later sums waiting join member summed chain total overdue share standing places above full'.split(
    ' ',
  )
/** Jobs of one script, which may take longer here than a verb may. */
const STEP = 5_000

const script = (text: string) => withLibraries('#!lua', LIBRARIES, text)

/** Puts jobs into a line as `admit` does, without asking whether they fit, and without the way there and back for each. */
const DEEPEN = script(
  `local key, prefix, from, count, now, patience = ARGV[1], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
  local meta, bucket, job = read_meta(), read_bucket_and_line(key), read_job(ARGV[2])
  local records, data = {}, data_of(job)
  for index = from, from + count - 1 do
    job.id, job.admittedAt, job.deadline, job.position, job.departsAt = prefix .. index, now, now + patience, index + 1, now
    join(job, bucket, meta, now)
    records[#records + 1], records[#records + 2] = job.id, record_of_job(job)
    if job.size > LARGE then redis.call('HSET', K.data, job.id, data) end
    if #records == 400 or index == from + count - 1 then
      redis.call('HSET', K.jobs, unpack(records))
      records = {}
    end
  end
  write_bucket(bucket)
  return redis.call('HINCRBY', K.meta, 'admitted', count)`,
)

/** The same for buckets, each with one job: like the first of them, with other numbers behind its key and its job. */
const WIDEN = script(
  `local from, count, now = tonumber(ARGV[3]), tonumber(ARGV[4]), read_now(ARGV[5])
  local meta, like, job = read_meta(), read_bucket(ARGV[1] .. '0'), read_job(ARGV[2] .. '0')
  local numbers, jobs, buckets = meta.numbers, {}, {}
  like.chain = like.member and like.member.chain or ''
  for index = from, from + count - 1 do
    local copy = {}
    for name, value in pairs(job) do copy[name] = value end
    copy.id, copy.key, numbers = ARGV[2] .. index, ARGV[1] .. index, numbers + 1
    buckets[copy.key] = new_bucket(copy.key, numbers, like, now)
    join(copy, buckets[copy.key], meta, now)
    jobs[#jobs + 1] = copy
    if #jobs == MOST_PER_CALL or index == from + count - 1 then
      write_new_jobs(jobs, buckets, meta)
      jobs, buckets = {}, {}
    end
  end
  redis.call('HSET', K.meta, 'numbers', numbers)
  return redis.call('HINCRBY', K.meta, 'admitted', count)`,
)

export interface DeepLine {
  readonly key: string
  /** A job that stands in the line already: the others are like it. */
  readonly like: string
  /** The others are named by this and a number, from 0 on. */
  readonly prefix: string
  readonly count: number
  /** Microseconds. */
  readonly now: number
  readonly deadline?: number
}

export async function deepen(redis: Redis, tag: string, line: DeepLine): Promise<void> {
  const { key, like, prefix, count, now, deadline = Number.POSITIVE_INFINITY } = line
  const patience = deadline === Number.POSITIVE_INFINITY ? 'inf' : deadline
  for (let from = 0; from < count; from += STEP) {
    await redis.eval(DEEPEN, 1, tag, key, like, prefix, from, Math.min(STEP, count - from), now, patience)
  }
}

export interface ManyBuckets {
  /** What their keys, and the ids of their jobs, are before the number. The one with number 0 was admitted. */
  readonly key: string
  readonly id: string
  readonly count: number
  /** When that one was admitted; microseconds. */
  readonly now: number
}

export async function widen(redis: Redis, tag: string, { key, id, count, now }: ManyBuckets): Promise<void> {
  for (let from = 1; from < count; from += STEP) {
    await redis.eval(WIDEN, 1, tag, key, id, from, Math.min(STEP, count - from), now)
  }
}
