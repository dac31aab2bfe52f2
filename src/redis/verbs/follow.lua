#!lua flags=allow-oom
-- waiting | retrying -> granted, without a slot: gives a worker the next jobs of fast buckets, which it starts in order, each after the one
-- before it as the pace wants ("a run": see run.lua). All jobs of such a bucket that were handed over and have not started are with one worker.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line later sums waiting head handover grant start member summed chain total overdue share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', name by which the caller knows the shard | '', worker, lease, how far its clock may be ahead and how far
--          behind, together, number of requests, then for each: key, last epoch of its jobs of which the worker knows | 0, how many more it takes
-- Answers  { now, version of the rule book, answer, ... }, up to the first request for which there is no time left, where an answer is
--          { 'run', interval, tolerance, pattern, then for each job: id, epoch, when it may start at the earliest, beside the pace | 0, latest
--          start, cost, settings, data, admittedAt, attempt, fence, traceparent | '' }; the interval is 0 where none may follow another, and
--          where there is no bucket | { 'foreign' } | { 'late' }

-- To grant one takes a tenth of what a call may take. Each request may have one beside those.
local MOST = 25

local now = read_now(ARGV[1])
local latest, worker, lease, off, requests = ARGV[2] ~= '' and number(ARGV[2]) or INF, ARGV[4], number(ARGV[5]), number(ARGV[6]), count(7, 3)
expect_numbers(8, 3, requests, 1, 2)
for at = 8, 5 + requests * 3, 3 do whole(ARGV[at + 2]) end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'wake')
local meta = read_meta()
guard_run(meta, now, ARGV[3])
-- How many more are granted, or named again, in this call.
local left = MOST

local function add(answer, job, state, earliest, latest)
  for _, value in ipairs({ state.id, text(state.epoch), text(earliest > -INF and earliest or 0), text(latest), text(job.cost), job.settings, job.data,
    text(job.admittedAt), text(state.attempt), text(state.fence), job.traceparent }) do answer[#answer + 1] = value end
end

-- Whether the worker has all jobs of the bucket that were handed over, and knows them. Where an answer was lost, this one names them
-- again; since the bucket may have got another limit, others may stand behind them by then.
local function has_all(bucket, known, is_again, answer)
  read_line(bucket)
  if bucket.inHanded == 0 then return false end
  local members = redis.call('LRANGE', K.handed .. bucket.suffix, is_again and 0 or -MOST, -1)
  local last = read_state(parse_member(members[#members] or ''))
  local is_mine = last.state == 'granted' and last.worker == worker
  if not is_mine and not is_again then return false end
  if is_mine and last.epoch <= known then return true end
  for _, member in ipairs(members) do
    local state = read_state(parse_member(member))
    local is_lost = state.epoch > known and state.state == 'granted' and state.worker == worker and bucket.granted ~= state.id
    local job = is_lost and read_job(state.id)
    if job then add(answer, job, state, state.slot, state.slot + FARTHEST_SLOT + off) end
    left = left - 1
  end
  return false
end

-- The next job of the bucket, if it may be one of a run, and its state. What is unusual about a job, claim and gate deal with.
local function next_of_run(bucket, at)
  local member, kind, ready_at = peek_head(bucket, at)
  local id = member and parse_member(member)
  if not id or is_missing.states and kind ~= 'line' then return nil end
  local is_known, state = pcall(read_state, id)
  local is_readable, job = pcall(read_job, id)
  if not is_known or not is_readable or not job or job.size > LARGE or state.crashes > 0 or job.deadline < at + 2 * FARTHEST_SLOT
    or usage.names_costs(job.settings) and not usage.named(job.settings) then return nil end
  return job, state, member, kind, ready_at
end

local function extend(bucket, most, share, answer)
  if not usage.may_run(bucket) or bucket.paused == 1 or bucket.frozen > now then return end
  local was, handed = bucket.next, bucket.inHanded
  allow_for_clock(bucket, meta, now)
  local moved = bucket.next > was and bucket.next or -INF
  most = math.min(most, share, usage.RUN_JOBS - handed)
  while bucket.inHanded < handed + most do
    local slot = math.max(now, due_of(bucket))
    local job, state, member, kind, ready_at
    if slot <= now + FARTHEST_SLOT then job, state, member, kind, ready_at = next_of_run(bucket, slot) end
    if not job then break end
    mark_handed(bucket, member, kind, ready_at, state, next_stamp(meta, 'epoch', now))
    later.hold_lease(meta, state.id, now + lease)
    state.state, state.worker, state.slot, state.onGrid, state.isSettled = 'granted', worker, slot, true, false
    state.attempt, state.fence, meta.granted = state.attempt + 1, next_stamp(meta, 'fence', now), meta.granted + 1
    later.write_state(state)
    -- Who freezes or pauses the bucket waits until the last of these slots.
    add(answer, job, state, math.max(moved, bucket.from, ready_at), slot + FARTHEST_SLOT + off)
  end
  left, bucket.hasRun = left - math.max(0, bucket.inHanded - handed - 1), bucket.hasRun or bucket.inHanded > handed
  if bucket.inHanded > handed or moved > -INF then later.reschedule(bucket, meta) end
end

local function answer_to(key, known, most, share)
  -- It was named before in this call.
  if later.buckets[key] then later.flush(meta) end
  local is_readable, bucket = pcall(read_bucket, key)
  if not is_readable then return { 'foreign' } end
  if not bucket then return { 'run', 0, 0, '' } end
  local answer = { 'run', text(usage.is_fast(bucket) and bucket.interval or 0), text(bucket.tolerance), bucket.pattern }
  -- None waits behind the one that the worker has. Many a question finds that.
  if most > 0 and bucket.inHanded + bucket.inLine + retrying(bucket) <= 1 then return answer end
  local is_whole, has_rest = pcall(has_all, bucket, known, most == 0, answer)
  if not is_whole then return { 'foreign' } end
  if has_rest then extend(bucket, most, share, answer) end
  return answer
end

local answers, granted = { text(now), text(meta.book) }, meta.granted
later.write_after(meta, function()
  for index = 1, requests do
    if left < 0 or usage.is_enough(index) then break end
    local at, share = 5 + index * 3, math.max(1, math.ceil(left / (requests - index + 1)))
    -- The worker has given up, and will not read the answer: a job that this granted would wait for a whole lease.
    answers[index + 2] = now > latest and { 'late' } or answer_to(ARGV[at], number(ARGV[at + 1]), number(ARGV[at + 2]), share)
  end
end)
if meta.granted > granted then redis.call('HSET', K.meta, 'epoch', meta.epoch, 'fence', meta.fence, 'granted', meta.granted) end
return answers
