#!lua flags=allow-oom
-- granted -> running: the handler was called. Only now do its cost units stop waiting. A turn runs while it holds its place: from
-- now on its lease is one of a caller at work, not of one that news has to reach.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line later sums waiting lookup grant start notes member summed chain total overdue share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', number of reports, then for each: id, epoch, started at
-- Answers  { '1' | '2' | '0', ... }: '0' where the job is not the caller's any more, '2' where its run is to stop; up to the first whose bucket is incomplete, or until quotas have taken long

local now = read_now(ARGV[1])
local reports = count(2, 3)
expect_numbers(3, 3, reports, 1, 2)
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'wake')
local meta = read_meta()
expect_states(3, 3)
note_activity(meta, now)
local answers = {}

-- Returns nil where parts of the bucket are missing: nothing was done, and the report is to be sent again.
local function begin(id, epoch, started_at)
  local state, bucket, _, is_partial = read_handed(id, false, false, later)
  if is_partial then return nil end
  if not bucket or state.epoch ~= epoch or state.state ~= 'granted' and state.state ~= 'running' then return '0' end
  if state.state == 'granted' then
    started_at = started_by(meta, started_at, now)
    if started_at < meta.watchedUntil then note_start(meta, bucket, id, started_at) end
    start(bucket, state, started_at)
    later.write_state(state)
    later.inTime[#later.inTime + 1] = id
    if is_turn(id) then hold_lease(meta, id, now + TURN_LEASE) end
    later.reschedule(bucket, meta)
  end
  return usage.must_stop(bucket, now) and '2' or '1'
end

later.write_after(meta, function()
  for index = 1, reports do
    if usage.is_enough(index) then break end
    local at = 3 + (index - 1) * 3
    local answer = begin(ARGV[at], number(ARGV[at + 1]), number(ARGV[at + 2]))
    if not answer and index == 1 then partial('handed') end
    if not answer then break end
    answers[index] = answer
  end
end)
return answers
