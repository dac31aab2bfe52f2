#!lua flags=allow-oom
-- waiting | retrying -> granted, without a slot: gives a worker the next jobs of a fast bucket, which it starts in order, each after the one
-- before it as the pace wants ("a run": see run.lua). All jobs of such a bucket that were handed over and have not started are with one worker.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting head handover grant member summed chain total share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', name by which the caller knows the shard | '', worker, lease, key, last epoch of its jobs of which the worker knows | 0, how many more it takes
-- Answers  { now, version of the rule book, interval, tolerance, pattern, then for each job: id, epoch, when it may start at the earliest,
--          beside the pace | 0, latest start, cost, settings, data, admittedAt, attempt, fence, traceparent | '' }; 0, 0 and '' where there is no bucket

-- To grant one takes a tenth of what a call may take.
local MOST = 25

expect_arguments(7)
local now = read_now(ARGV[1])
local worker, lease, key, known, most = ARGV[3], number(ARGV[4]), ARGV[5], number(ARGV[6]), math.min(MOST, whole(ARGV[7]))
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'wake')
local meta = read_meta()
local bucket = read_bucket(key)
if bucket then read_line(bucket) end
guard_run(meta, now, ARGV[2])
if not bucket then return { text(now), text(meta.book), 0, 0, '' } end
local answer = { text(now), text(meta.book), text(bucket.interval), text(bucket.tolerance), bucket.pattern }

local function add(job, state, earliest, latest)
  for _, value in ipairs({ state.id, text(state.epoch), text(earliest > -INF and earliest or 0), text(latest), text(job.cost), job.settings, job.data,
    text(job.admittedAt), text(state.attempt), text(state.fence), job.traceparent }) do answer[#answer + 1] = value end
end

-- Whether the worker has all jobs of the bucket that were handed over, and knows them. Where an answer was lost, this one names them again.
local function has_all()
  if bucket.inHanded == 0 then return false end
  local members = redis.call('LRANGE', K.handed .. bucket.suffix, -MOST, -1)
  local last = read_state(parse_member(members[#members] or ''))
  if last.state ~= 'granted' or last.worker ~= worker then return false end
  if last.epoch <= known then return true end
  for _, member in ipairs(members) do
    local state = read_state(parse_member(member))
    local job = state.epoch > known and state.state == 'granted' and bucket.granted ~= state.id and read_job(state.id)
    if job then add(job, state, state.slot, state.slot + 2 * FARTHEST_SLOT) end
  end
  return false
end

-- The next job of the bucket, if it may be one of a run, and its state. What is unusual about a job, claim and gate deal with.
local function next_of_run(at)
  local member, kind, ready_at = peek_head(bucket, at)
  local id = member and parse_member(member)
  if not id or is_missing.states and kind ~= 'line' then return nil end
  local is_known, state = pcall(read_state, id)
  local is_readable, job = pcall(read_job, id)
  if not is_known or not is_readable or not job or job.size > LARGE or state.crashes > 0 or job.deadline < at + 2 * FARTHEST_SLOT
    or usage.names_costs(job.settings) and not usage.named(job.settings) then return nil end
  return job, state, member, kind, ready_at
end

if not has_all() or not usage.may_run(bucket) or bucket.paused == 1 or bucket.frozen > now then return answer end
local was, handed = bucket.next, bucket.inHanded
allow_for_clock(bucket, meta, now)
local moved = bucket.next > was and bucket.next or -INF
most = math.min(most, usage.RUN_JOBS - handed)
while bucket.inHanded < handed + most do
  local slot = math.max(now, due_of(bucket))
  local job, state, member, kind, ready_at
  if slot <= now + FARTHEST_SLOT then job, state, member, kind, ready_at = next_of_run(slot) end
  if not job then break end
  mark_handed(bucket, meta, member, kind, ready_at, state, next_stamp(meta, 'epoch', now), now + lease)
  state.state, state.worker, state.slot, state.onGrid, state.isSettled = 'granted', worker, slot, true, false
  state.attempt, state.fence, meta.granted = state.attempt + 1, next_stamp(meta, 'fence', now), meta.granted + 1
  write_state(state)
  add(job, state, math.max(moved, bucket.from, ready_at), now + 2 * FARTHEST_SLOT)
end
if bucket.inHanded > handed then
  redis.call('HSET', K.meta, 'epoch', meta.epoch, 'fence', meta.fence, 'granted', meta.granted)
end
if bucket.inHanded > handed or moved > -INF then reschedule(bucket, meta) end
return answer
