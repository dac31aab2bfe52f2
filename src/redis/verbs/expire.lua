#!lua flags=allow-oom
-- waiting | retrying | handed and without a slot -> expired, for jobs whose deadline has passed; 75 at most, of which those under
-- limits of several parts count twice: what counts there is read and written with each.
-- uses: shard forward sweeps loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state kept retention ended blocks next due line sums waiting head lookup leave member summed chain total overdue share standing places
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', how many ended jobs to keep, name of the process that asks, number of its sweep
-- Answers  { at, id, key, cost, attempt, ... }

expect_arguments(4)
local now, keep = read_now(ARGV[1]), read_keep(2)
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'shares', 'aging', 'gone', 'wake')
local replayed = replayed_sweep(ARGV[3], ARGV[4])
if replayed then return replayed end
local meta = read_meta()
-- What ends now must not count as ended that much earlier when the step is noted.
heed_clock(meta, now)
local answer, left = { text(now) }, MOST_SWEPT
for _, id in ipairs(redis.call('ZRANGEBYSCORE', K.deadlines, '-inf', now, 'LIMIT', 0, MOST_SWEPT)) do
  if left <= 0 or usage.is_enough(MOST_SWEPT - left) then break end
  local is_readable, job, state, bucket = pcall(read_waiting, id)
  left = left - (is_readable and bucket and usage.of(bucket) and 2 or 1)
  if not is_readable then redis.call('ZADD', K.deadlines, now + UNREADABLE, id)
  elseif bucket and state.state == 'granted' then
    -- It starts, or it comes back and has expired.
    redis.call('ZADD', K.deadlines, now + FARTHEST_SLOT, id)
  elseif bucket and WAITS[state.state] then
    end_waiting(bucket, meta, job, state, 'expired', now)
    for _, value in ipairs({ id, job.key, text(job.cost), text(state.attempt) }) do answer[#answer + 1] = value end
  else
    redis.call('ZREM', K.deadlines, id)
  end
end
close_books(meta, keep, now)
remember_sweep(ARGV[3], ARGV[4], answer)
return answer
