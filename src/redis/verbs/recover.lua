#!lua flags=allow-oom
-- handed | granted | running -> back at the head of its line, for jobs whose lease has ended; 75 at most, with those that
-- were handed over after them, which come back with them. One that may have started counts a crash, and the third crash fails it.
-- The places of callers whose process is silent are given up; a turn that was handed over comes back once, since its notice may have
-- been lost; one that held a place of its limit loses it. After a restart of the server, what was handed over before and has no slot comes back, too.
-- MOST_SENT_BACK bounds what comes back in all: the last may bring RUN_JOBS + MOST_HANDED others with it.
-- uses: shard forward sweeps loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state kept retention ended blocks next due line sums waiting head lookup leave grant start resend member summed chain total overdue share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', how many ended jobs to keep, name of the process that asks, number of its sweep, time up to which the caller
--          trusts the clock: a lease that ended later has not surely ended | ''
-- Answers  { at, whether leases are left to be looked at because of a restart ('1' | '0'), id, epoch that is void, key, cost, attempt, 'waits' | 'crashed' | 'failed' | 'gone' | 'lapsed', ... }

expect_arguments(5)
local now, keep = read_now(ARGV[1]), read_keep(2)
local trusted = ARGV[5] == '' and now or math.min(now, number(ARGV[5]))
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'shares', 'aging', 'gone', 'wake')
-- A block of its own: Lua allows a script 200 local variables.
do
  local replayed = replayed_sweep(ARGV[3], ARGV[4])
  if replayed then return replayed end
end
local meta = read_meta()
note_activity(meta, now)
local answer = { text(now), '0' }

local function recover(bucket, job, state)
  local is_caller = is_turn(state.id)
  if is_caller and (state.state ~= 'handed' or state.crashes > 0) and WAITS[state.state] then
    end_waiting(bucket, meta, job, state, 'cancelled', now)
    return 'gone'
  end
  if state.state == 'handed' then
    if is_caller then
      state.crashes = state.crashes + 1
      write_state(state)
    end
    send_back_and_report(bucket, meta, state.id, now, answer)
    return 'waits'
  end
  if is_caller and state.state == 'running' then
    bucket.running = bucket.running - 1
    state.error = 'its place was lost: the process of its caller died or stalled'
    end_job(meta, state, 'failed', now)
    return 'lapsed'
  end
  if state.state == 'granted' then
    -- Whether a handler runs with that slot is unknown: it counts as one that starts now.
    state.onGrid = false
    start(bucket, state, now)
  end
  bucket.running = bucket.running - 1
  state.crashes = state.crashes + 1
  if state.crashes >= 3 or is_caller then
    state.error = 'crashed ' .. state.crashes .. ' times: its worker died or stalled while it ran'
    end_job(meta, state, 'failed', now)
    return 'failed'
  end
  state.attempt = state.attempt - 1
  wait_again(bucket, state, 'back', -INF, '')
  return 'crashed'
end

-- Its record is gone, but it is still in the list of jobs that were handed over, and the jobs behind it would wait for it.
local function forget_lost(id, job)
  local state = read_state(id)
  local bucket = read_bucket_and_line(job and job.key or state.key)
  if not bucket then return end
  for _, member in ipairs(redis.call('LRANGE', K.handed .. bucket.suffix, 0, -1)) do
    local lost, cost = parse_member(member)
    if lost == id then
      redis.call('LREM', K.handed .. bucket.suffix, 1, member)
      bucket.inHanded = bucket.inHanded - 1
      bucket.waiting = bucket.waiting - cost
      if bucket.granted == id then bucket.granted, bucket.grantedSlot, bucket.grantedCost = '', 0, 0
      else usage.count_handed(bucket, state.epoch, -cost) end
      reschedule(bucket, meta)
    end
  end
end

local function give_up(id)
  local is_readable, job, state, bucket = pcall(read_waiting, id)
  if not is_readable then hold_lease(meta, id, now + UNREADABLE)
  elseif bucket and (HELD[state.state] or is_turn(id) and WAITS[state.state]) then
    local epoch = state.epoch
    local fate = recover(bucket, job, state)
    reschedule(bucket, meta)
    if fate ~= 'waits' then report(answer, { id, text(epoch), job.key, text(job.cost), text(state.attempt) }, fate) end
  else
    redis.call('ZREM', K.leases, id)
    pcall(forget_lost, id, job)
  end
end

send_again(meta, now, answer)
for index, id in ipairs(redis.call('ZRANGEBYSCORE', K.leases, '-inf', trusted - meta.lifted, 'LIMIT', 0, MOST_SWEPT)) do
  -- Many may come back with each: all that were handed over after it.
  if meta.sentBack >= MOST_SENT_BACK or usage.is_enough(index) then break end
  -- One that came back with another of this call has a lease again, or needs none.
  if (lease_end(meta, id) or INF) <= trusted then give_up(id) end
end
close_books(meta, keep, now)
remember_sweep(ARGV[3], ARGV[4], answer)
return answer
