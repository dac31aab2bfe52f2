#!lua flags=allow-oom
-- Counts what a running attempt really took in named units, in place of what was estimated; once for each fence. A turn that holds
-- no place has ended when its caller settles it: then the call says what it was charged, and its caller sees to it that it settles once.
-- uses: shard loss lease job warmth quota calendar usage charge bucket pace name state blocks next line grant notes
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', operation, id, a key whose first segment the job belongs to | '', fence, when it was started, if that
--          was not reported yet | '', cost of a turn that has ended | '', its named costs: as settings name them, behind a space | '',
--          number of units, then for each: unit, amount
-- Answers  { 'late' } | { 'unit', the first that no quota counts, key, units of the limit, ... } | { 'ok', '1' | '0' }: '0' where it was settled before, or does not run

local now = read_now(ARGV[1])
local operation, fence, started_at, units = ARGV[3], number(ARGV[6]), ARGV[7], count(10, 2)
expect_numbers(11, 2, units, 1)
local cost = ARGV[8] ~= '' and number(ARGV[8])
if cost and not (is_turn(ARGV[4]) and started_at ~= '' and (ARGV[9] == '' or pcall(cjson.decode, ARGV[9]))) then refuse_arguments() end
if started_at ~= '' then number(started_at) end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'wake')
local replay = redis.call('GET', K.op .. operation)
if replay then return cmsgpack.unpack(replay) end
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
local meta = read_meta()
local name, state, bucket = ARGV[4], nil, nil
if cost then
  state = { id = name, cost = cost, costs = ARGV[9], departedAt = number(started_at) }
  bucket = read_bucket(ARGV[5])
else
  local _, found = find_job(ARGV[4], ARGV[5], read_job)
  name, state = found, read_state(found)
end
local may_start = state.state == 'granted' and started_at ~= ''
if not cost and state.fence == fence and (state.state == 'running' or may_start) and not state.isSettled then
  bucket = read_bucket(state.key)
end
if not bucket then return { 'ok', '0' } end
read_list(bucket, 'handed')

local amounts = {}
for at = 11, 10 + units * 2, 2 do amounts[ARGV[at]] = number(ARGV[at + 1]) end
local unknown = usage.unknown_unit(bucket, amounts)
if unknown then return unknown end
if may_start then
  started_at = started_by(meta, number(started_at), now)
  if started_at < meta.watchedUntil then note_start(meta, bucket, name, started_at) end
  start(bucket, state, started_at)
  redis.call('ZREM', K.deadlines, name)
end
usage.settle(bucket, state, amounts, now, meta.lostAt)
if not cost then write_state(state) end
reschedule(bucket, meta)
redis.call('SET', K.op .. operation, cmsgpack.pack({ 'ok', '1' }), 'PX', 10000)
return { 'ok', '1' }
