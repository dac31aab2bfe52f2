#!lua flags=allow-oom
-- handed -> granted: reserves a slot, not before now + lead, for the first of the jobs that were handed over. No
-- job is granted one while a granted job of the bucket has not started, so a slot that was missed can always be moved.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state kept retention ended blocks next due line later sums waiting head lookup leave grant start member summed chain total overdue share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', how many ended jobs to keep, name by which the caller knows the shard | '', number of requests, then for each: id, epoch, worker, lead, lease, missed slot | '',
--          whether the caller has its data ('1' | '0'), how far its clock may be ahead and how far behind, together
-- Answers  { now, version of the rule book, answer, ... }, where an answer is
--          { 'granted', slot, startAt, latest, tolerance, key, cost, settings, data, admittedAt, attempt, fence, traceparent | '', pattern, start before, how far it keeps this one away, crashes,
--            the slot that it would have had in time, except when a missed slot is moved, end of the bucket's freeze, or of a total's | 0, interval of a fast bucket | 0, whether others may follow ('1' | '0'); of a turn, if its limit has parts: whether it holds a place ('1' | '0') }
--          | { 'data', their size: they are fetched before a slot is reserved } | { 'wait', until } | { 'returned' } | { 'expired', at, key, cost, attempt } | { 'stale' } | { 'foreign' }

local now = read_now(ARGV[1])
local keep, requests = read_keep(2), count(4, 8)
expect_numbers(5, 8, requests, 1, 3, 4, 7)
for at = 5, #ARGV, 8 do if ARGV[at + 5] ~= '' then number(ARGV[at + 5]) end end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'shares', 'aging', 'gone', 'wake')
local meta = read_meta()
expect_states(5, 8)
guard_run(meta, now, ARGV[3])

local function answer(at)
  local id, epoch, worker = ARGV[at], number(ARGV[at + 1]), ARGV[at + 2]
  local lead, lease, missed = number(ARGV[at + 3]), number(ARGV[at + 4]), ARGV[at + 5]
  local has_data, off = ARGV[at + 6] == '1', number(ARGV[at + 7])
  local state, bucket, is_foreign = read_handed(id, false, true, later)
  local is_readable, job = pcall(read_job, id)
  if is_foreign or not is_readable or job and usage.names_costs(job.settings) and not usage.named(job.settings) then return { 'foreign' } end
  -- The job expired when this worker asked before, and that answer was lost.
  local is_replay = job and state.state == 'expired' and state.epoch == epoch and state.worker == worker
  if is_replay and now < state.endedAt + REPLAY_WINDOW then
    return { 'expired', text(state.endedAt), job.key, text(job.cost), text(state.attempt) }
  end
  if not bucket or not job then return { 'stale' } end
  local is_mine = state.state == 'handed' or (state.state == 'granted' and state.worker == worker)
  if state.epoch ~= epoch or not is_mine then return { 'stale' } end
  local is_first = state.state == 'handed'
  local until_ = bucket.isBehind and ask_again(bucket, state, now) or is_first and bucket.member and family.busy_until(bucket, now)
  if until_ then
    -- A worker that asks is alive: its lease is renewed.
    later.hold_lease(meta, id, now + (is_turn(id) and math.min(lease, NEWS) or lease))
    return { 'wait', text(until_) }
  end
  if job.size > LARGE and not has_data and bucket.paused == 0 and bucket.frozen - now <= FARTHEST_SLOT then
    later.hold_lease(meta, id, now + lease)
    return { 'data', text(job.size) }
  end
  -- It missed its slot; or it asks again because an answer was lost, and all may have changed meanwhile, also the clock. Below totals it
  -- is granted anew: the slots of these may be later than its own.
  local is_void = missed ~= '' and number(missed) == state.slot or now > state.slot + FARTHEST_SLOT
    or state.slot > now + FARTHEST_SLOT
    or bucket.paused == 1 or bucket.frozen > now or bucket.member and not is_first
  if not is_first and (is_void or bucket.granted ~= id) then ungrant(bucket, job, state) end
  local slot, start_at, due, latest = state.slot, math.max(state.slot, now), state.slot, INF
  if state.state == 'handed' then
    if bucket.paused == 0 then slot, start_at, due, latest = grant(bucket, meta, job, state, worker, now, lead, off) end
    local is_returned = bucket.paused == 1 or not slot
    local is_late = not is_returned and start_at > job.deadline + bucket.tolerance
    if is_returned or is_late then
      if not pcall(read_line, bucket) then return { 'foreign' } end
      if not is_first then state.attempt = state.attempt - 1 end
      later.flush(meta)
    end
    if is_returned then
      write_state(state)
      send_back(bucket, meta, id, now)
      reschedule(bucket, meta)
      return { 'returned' }
    end
    if is_late then
      ungrant(bucket, job, state)
      state.worker = worker
      end_waiting(bucket, meta, job, state, 'expired', now)
      return { 'expired', text(now), job.key, text(job.cost), text(state.attempt) }
    end
    -- One that is granted anew keeps its fence: it may be of a run, and those behind it have theirs already.
    if is_first then
      state.attempt = state.attempt + 1
      state.fence = next_stamp(meta, 'fence', now)
      meta.granted = meta.granted + 1
    end
    later.write_state(state)
    later.write(bucket)
  end
  local turn_parts = is_turn(id) and usage.places_of(bucket) or nil
  -- The caller of a turn whose start is not heard of is soon taken for dead, but not where it may hold a place.
  later.hold_lease(meta, id, is_turn(id) and turn_parts ~= '1' and math.min(now + lease, start_at + NEWS) or now + lease)
  return {
    -- A worker that is later than `latest` asks again: the bucket may have been frozen meanwhile.
    'granted', text(slot), text(start_at), text(math.min(start_at + FARTHEST_SLOT + off, latest)), text(bucket.member and family.tolerance(bucket) or bucket.tolerance), job.key,
    text(job.cost), job.settings, has_data and '' or job.data or '', text(job.admittedAt), text(state.attempt), text(state.fence),
    job.traceparent, bucket.pattern, text(bucket.lastStart), text(spacing_after_start(bucket)),
    -- Of a turn, `crashes` counts lost handovers, not handlers that were cut off.
    text(is_turn(id) and 0 or state.crashes), text(is_first and due or slot),
    text(bucket.member and family.frozen_until(bucket, now) or bucket.frozen > now and bucket.frozen or 0), text(usage.is_fast(bucket) and bucket.interval or 0), not is_turn(id) and usage.may_run(bucket) and bucket.inLine + retrying(bucket) > 0 and '1' or '0', turn_parts,
  }
end

local answers, fence = { text(now), text(meta.book) }, meta.fence
later.write_after(meta, function()
  for index = 1, requests do
    answers[index + 2] = meta.sentBack < MOST_SENT_BACK and not usage.is_enough(index) and answer(5 + (index - 1) * 8) or { 'wait', text(now + 1000) }
  end
end)
if meta.fence ~= fence then redis.call('HSET', K.meta, 'fence', meta.fence, 'granted', meta.granted) end
close_books(meta, keep, now)
return answers
