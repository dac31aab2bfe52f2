#!lua flags=allow-oom
-- running -> completed | failed | retrying; granted or handed -> back to the line it came from.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state kept retention ended blocks next due line later sums waiting head lookup leave grant start notes member summed chain total overdue share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', how many ended jobs to keep, number of reports, then for each: id, epoch, started at | '', outcome (completed |
--          failed | retry | freeze | back), its text (result as JSON | error | worker) | '', has text ('1' | '0'), delay | ''
-- Answers  { now, '0' | '1' | ready at | - ended at, ... }: '0' where the job is not the caller's any more, and when it ended where the
--          same report came before; behind a space 'stop' where its run is to stop, of a turn what it was charged in named units, if its
--          limit has some, and of a freeze whose report came before, when that was carried out; up to the
--          first whose bucket is incomplete, or until MOST_SENT_BACK jobs were sent back or quotas have taken long

local now = read_now(ARGV[1])
local keep, reports = read_keep(2), count(3, 7)
-- Whether it comes with a delay.
local OUTCOMES = { completed = false, failed = false, retry = true, freeze = true, back = true }
expect_numbers(4, 7, reports, 1)
for at = 4, 3 + reports * 7, 7 do
  if ARGV[at + 2] ~= '' then number(ARGV[at + 2]) end
  if OUTCOMES[ARGV[at + 3]] ~= false then number(OUTCOMES[ARGV[at + 3]] and ARGV[at + 6]) end
end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'shares', 'aging', 'gone', 'wake')
local meta = read_meta()
expect_states(4, 7)
note_activity(meta, now)

-- A turn may be settled when its record is gone, by what its caller knows.
local function ended(state, answer)
  if not state.charged or state.charged == '' or not is_turn(state.id) then return text(answer) end
  return string.format('%.17g %s', answer, state.charged)
end

-- What a freeze was answered stands where a worker's name does. Both times are kept as freezes are: as if the clock had never been set back.
local FROZEN = 'frozen %.17g %.17g'

-- The same report again: the first answer was lost.
local function answered(state, outcome)
  if state.state == outcome then return ended(state, -state.endedAt) end
  if state.state ~= 'retrying' then return '0' end
  if outcome == 'retry' and state.kind == 'retry' then return text(state.readyAt) end
  local ready_at, done_at = string.match(state.worker, '^frozen (%S+) (%S+)$')
  if outcome ~= 'freeze' or state.kind ~= 'back' or not ready_at then return '0' end
  return string.format('%.17g %.17g', ready_at - set_back(), done_at - set_back())
end

-- Returns nil where parts of the bucket are missing: nothing was done, and the report is to be sent again.
local function finish(at)
  local id, epoch, started_at, outcome = ARGV[at], number(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3]
  local said, delay = ARGV[at + 5] == '1' and ARGV[at + 4], ARGV[at + 6]
  local state, bucket, _, is_partial = read_handed(id, outcome ~= 'completed' and outcome ~= 'failed', false, later)
  if is_partial then return nil end
  if not state or state.epoch ~= epoch then return '0' end
  if not bucket then return answered(state, outcome) end
  if outcome == 'back' then
    if state.state ~= 'handed' and state.state ~= 'granted' then return '0' end
    -- It was delivered twice, and another worker has the slot.
    if state.state == 'granted' and state.worker ~= said then return '0' end
    if bucket.granted == id then unreserve(bucket) end
    send_back(bucket, meta, id, now)
    -- The worker has no handler for it, and jobs that have one are not to wait behind it in the transport again and again.
    if number(delay) > 0 then bucket.from = math.max(bucket.from, now + number(delay)) end
    later.reschedule(bucket, meta)
    return '1'
  end
  local has_begun = state.state == 'granted' and started_at ~= ''
  if has_begun then
    started_at = started_by(meta, number(started_at), now)
    if started_at < meta.watchedUntil then note_start(meta, bucket, id, started_at) end
    start(bucket, state, started_at)
  end
  if state.state ~= 'running' then return answered(state, outcome) end
  local had_line = has_line(bucket) or bucket.inHanded > 0
  bucket.running = bucket.running - 1
  local ready_at = nil
  if outcome == 'completed' or outcome == 'failed' then
    if outcome == 'completed' then state.result = said else state.error = said end
    end_job(meta, state, outcome, now)
  elseif outcome == 'retry' then
    state.error = said
    ready_at = now + number(delay)
    wait_again(bucket, state, 'retry', ready_at, '')
  else
    -- A job that is only given back freezes nothing, and a bucket that warms up does not turn cold.
    if number(delay) > 0 then freeze(bucket, now + number(delay)) end
    bucket.from = -INF
    ready_at = math.max(now, bucket.frozen)
    state.attempt = state.attempt - 1
    wait_again(bucket, state, 'back', -INF, string.format(FROZEN, ready_at + set_back(), now + set_back()))
  end
  if not had_line then bucket.from = -INF end
  -- The end of a job lets no other one go earlier, where no place comes free by it.
  if ready_at or has_begun or not had_line or usage.of(bucket) then later.reschedule(bucket, meta) else later.write(bucket) end
  -- A turn is in no run.
  if not is_turn(id) and usage.must_stop(bucket, now) then return string.format('%.17g stop', ready_at or 1) end
  return ready_at and text(ready_at) or ended(state, 1)
end

local answers = { text(now) }
later.write_after(meta, function()
  for index = 1, reports do
    if meta.sentBack >= MOST_SENT_BACK or usage.is_enough(index) then break end
    local answer = finish(4 + (index - 1) * 7)
    if not answer and index == 1 then partial('handed') end
    if not answer then break end
    answers[index + 1] = answer
  end
end)
close_books(meta, keep, now)
return answers
