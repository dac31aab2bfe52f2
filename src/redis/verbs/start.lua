#!lua flags=allow-oom
-- granted -> running: the handler was called. Only now do its cost units stop waiting. A turn runs while it holds its place: from
-- now on its lease is one of a caller at work, not of one that news has to reach.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting lookup grant notes member summed chain total share standing places under begun run
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
for index = 1, reports do
  if usage.is_enough(index) then break end
  local at = 3 + (index - 1) * 3
  local id, epoch, started_at = ARGV[at], number(ARGV[at + 1]), number(ARGV[at + 2])
  local state, bucket, _, is_partial = read_handed(id)
  if is_partial then
    if index == 1 then partial('handed') end
    break
  end
  local is_mine = bucket ~= nil and state.epoch == epoch and (state.state == 'granted' or state.state == 'running')
  if is_mine and state.state == 'granted' then
    started_at = started_by(meta, started_at, now)
    if started_at < meta.watchedUntil then note_start(meta, bucket, id, started_at) end
    start(bucket, state, started_at)
    write_state(state)
    redis.call('ZREM', K.deadlines, id)
    if is_turn(id) then hold_lease(meta, id, now + TURN_LEASE) end
    reschedule(bucket, meta)
  end
  answers[index] = is_mine and (usage.must_stop(bucket, now) and '2' or '1') or '0'
end
return answers
