#!lua flags=allow-oom
-- Counts what a running attempt really took in named units, in place of what was estimated; once for each fence.
-- uses: shard loss lease job warmth quota calendar usage charge bucket pace name state blocks next line grant notes
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', operation, id, a key whose first segment the job belongs to | '', fence, when it was started, if that
--          was not reported yet | '', number of units, then for each: unit, amount
-- Answers  { 'late' } | { 'unit', the first that no quota counts, key, units of the limit, ... } | { 'ok', '1' | '0' }: '0' where it was settled before, or does not run

local now = read_now(ARGV[1])
local operation, fence, started_at, units = ARGV[3], number(ARGV[6]), ARGV[7], count(8, 2)
expect_numbers(9, 2, units, 1)
if started_at ~= '' then number(started_at) end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'wake')
local replay = redis.call('GET', K.op .. operation)
if replay then return cmsgpack.unpack(replay) end
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
local meta = read_meta()
local _, name = find_job(ARGV[4], ARGV[5], read_job)
local state = read_state(name)
local may_start = state.state == 'granted' and started_at ~= ''
local bucket = state.fence == fence and (state.state == 'running' or may_start) and not state.isSettled and read_bucket(state.key)
if not bucket then return { 'ok', '0' } end
read_list(bucket, 'handed')

local amounts = {}
for at = 9, 8 + units * 2, 2 do amounts[ARGV[at]] = number(ARGV[at + 1]) end
local unknown = usage.unknown_unit(bucket, amounts)
if unknown then return unknown end
if may_start then
  started_at = started_by(meta, number(started_at), now)
  if started_at < meta.watchedUntil then note_start(meta, bucket, name, started_at) end
  start(bucket, state, started_at)
  redis.call('ZREM', K.deadlines, name)
end
usage.settle(bucket, state, amounts, now)
write_state(state)
reschedule(bucket, meta)
redis.call('SET', K.op .. operation, cmsgpack.pack({ 'ok', '1' }), 'PX', 10000)
return { 'ok', '1' }
