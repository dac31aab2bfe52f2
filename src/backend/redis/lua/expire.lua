#!lua flags=allow-oom
-- waiting | retrying | handed and without a slot -> expired, for jobs whose deadline has passed; 200 at most.
-- uses: shard bucket job line leave
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', keepFinished
-- Answers  { at, next deadline | 'inf', id, key, cost, attempt, ... }

-- What cannot be read must not hold up the others; it is looked at again after this time.
local UNREADABLE = 60000000

local now = read_now(ARGV[1])
local keep = number(ARGV[2])
expect('meta', 'buckets', 'jobs', 'states', 'due', 'idle', 'deadlines', 'leases', 'ended', 'wake')
local meta = read_meta()
local answer = { text(now), 'inf' }
for _, id in ipairs(redis.call('ZRANGEBYSCORE', K.deadlines, '-inf', now, 'LIMIT', 0, 200)) do
  local is_readable, job, state, bucket = pcall(read_waiting, id)
  if not is_readable then redis.call('ZADD', K.deadlines, now + UNREADABLE, id)
  elseif bucket and state.state == 'granted' then
    -- It starts, or it comes back and has expired.
    redis.call('ZADD', K.deadlines, now + 250000, id)
  elseif bucket and WAITS[state.state] then
    end_waiting(bucket, meta, job, state, 'expired', now)
    for _, value in ipairs({ id, job.key, text(job.cost), text(state.attempt) }) do answer[#answer + 1] = value end
  else
    redis.call('ZREM', K.deadlines, id)
  end
end
close_books(meta, keep, now)
local first = redis.call('ZRANGE', K.deadlines, 0, 0, 'WITHSCORES')
if first[2] then answer[2] = text(tonumber(first[2])) end
return answer
