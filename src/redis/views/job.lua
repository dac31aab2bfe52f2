#!lua flags=no-writes
-- The view of one job.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace name state blocks line sums waiting entries ahead member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', id, a key whose first segment the job belongs to | ''
-- Answers  { } when it is unknown | { key, state, cost, settings, data, attempt, admittedAt, deadline, departedAt,
--          endedAt, position ('0': it does not wait), has result, result, has error, error }

expect_arguments(3)
local now = read_now(ARGV[1])
local job = find_job(ARGV[2], ARGV[3], read_job)
if not job then
  expect_whole(read_meta())
  return {}
end
local state = read_state(job.id)

-- 1: departs next.
local function position()
  local bucket = read_bucket(job.key)
  if not bucket then return 0 end
  read_line(bucket)
  local before = bucket.granted ~= '' and 1 or 0
  if state.state == 'granted' then return 1 end
  if retrying(bucket) == 0 and state.state == 'waiting' then
    local index = position_of(bucket, job.block, member_of(job))
    return index and bucket.inHanded + index + 1 or 0
  end
  local order = entries.first(bucket, now, MOST_READ)
  for index, entry in ipairs(order) do
    if entry.id == job.id then return before + index end
  end
  return before + #order + unread_before(bucket, job, state, order, now) + 1
end

local waits = state.state == 'waiting' or state.state == 'retrying' or state.state == 'handed'
return {
  job.key, state.state, text(job.cost), job.settings, data_of(job), text(state.attempt), text(job.admittedAt),
  text(job.deadline), text(state.departedAt), text(state.endedAt), text(waits and position() or 0),
  state.result and '1' or '0', state.result or '', state.error and '1' or '0', state.error or '',
}
