#!lua flags=allow-oom
-- waiting | retrying | handed and without a slot -> cancelled.
-- uses: shard warmth bucket pace job state ended line turn leave
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', operation, keepFinished, id
-- Answers  { 'late' } | { 'none' } | { 'ok', at, key, cost, attempt }

local now = read_now(ARGV[1])
local keep, id = number(ARGV[4]), ARGV[5]
expect('meta', 'buckets', 'jobs', 'states', 'due', 'idle', 'deadlines', 'leases', 'ended', 'wake')
local meta = read_meta()
local job, state = read_job(id), read_state(id)
if not job then return { 'none' } end
local answer = { 'ok', text(now), job.key, text(job.cost), text(state.attempt) }
-- Asked again after the answer was lost: it is the one who cancelled.
if state.state == 'cancelled' and state.worker == ARGV[3] then return answer end
if not WAITS[state.state] then return { 'none' } end
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
local bucket = read_bucket(job.key)
if not bucket then foreign('buckets') end
read_line(bucket)
state.worker = ARGV[3]
end_waiting(bucket, meta, job, state, 'cancelled', now)
close_books(meta, keep, now)
return answer
