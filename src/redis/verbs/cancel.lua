#!lua flags=allow-oom
-- waiting | retrying | handed without a slot -> cancelled; with a slot, too, where the caller of a turn gives it up.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace name state kept retention ended blocks next due line sums waiting head leave grant start member summed chain total overdue share standing places under begun
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', operation, how many ended jobs to keep, id, whether the caller of the turn asks ('1' | '0'),
--          a key whose first segment the job belongs to | ''
-- Answers  { 'late' } | { 'none' } | { 'ok', at, key, cost, attempt }

expect_arguments(7)
local now = read_now(ARGV[1])
local keep, id, latest = read_keep(4), ARGV[5], ARGV[2] ~= '' and number(ARGV[2]) or INF
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'ended', 'shares', 'aging', 'gone', 'wake')
local meta = read_meta()
local job, name = find_job(id, ARGV[7], read_job)
if not job then return { 'none' } end
-- What ends now must not count as ended that much earlier when the step is noted.
heed_clock(meta, now)
local state = read_state(name)
local answer = { 'ok', text(now), job.key, text(job.cost), text(state.attempt) }
-- The same request again, after its answer was lost.
if state.state == 'cancelled' and state.worker == ARGV[3] then
  answer[2] = text(state.endedAt)
  return answer
end
local is_granted = state.state == 'granted' and is_turn(id) and ARGV[6] == '1'
if not WAITS[state.state] and not is_granted then return { 'none' } end
if now > latest then return { 'late' } end
local bucket = read_bucket(job.key)
if not bucket then foreign('buckets') end
read_line(bucket)
if is_granted then
  ungrant(bucket, job, state)
  answer[5] = text(state.attempt - 1)
end
state.worker = ARGV[3]
end_waiting(bucket, meta, job, state, 'cancelled', now)
close_books(meta, keep, now)
return answer
