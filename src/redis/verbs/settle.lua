#!lua flags=allow-oom
-- Counts what a running attempt really took in named units, in place of what was estimated; once for each fence. Its worker names the
-- attempt by its fence; others by its number, or mean the one that runs. A turn that holds no place has ended when its caller settles it:
-- then the call says what it was charged, and its caller sees to it that it settles once.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace name state blocks next due line sums waiting grant start settling notes member summed chain total overdue share standing places under begun run
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', operation, id, a key whose first segment the job belongs to | '', fence | '', when it was started, if that
--          was not reported yet | '', cost of a turn that has ended | '', what that was charged, as `finish` answered | '', its named costs as
--          they stand behind settings | '', '1' if the same may have been counted before: then only the excess over what was charged counts | '',
--          number of the attempt | '', number of units, then for each: unit, amount
-- Answers  { 'late' } | { 'unit', the first that no quota counts, key, units of the limit, ... } | { 'none' }: it was settled before, or does not run |
--          { 'ok', at, key, cost, attempt, fence }

local now = read_now(ARGV[1])
local operation, fence, started_at, units = ARGV[3], ARGV[6] ~= '' and number(ARGV[6]), ARGV[7], count(13, 2)
local attempt = ARGV[12] ~= '' and number(ARGV[12])
expect_numbers(14, 2, units, 1)
local cost, is_again = ARGV[8] ~= '' and number(ARGV[8]), ARGV[11] == '1'
if ARGV[11] ~= '' and not (is_again and cost) then refuse_arguments() end
if cost and not (fence and is_turn(ARGV[4]) and started_at ~= '' and usage.charged_in(ARGV[9]) and usage.named('-' .. ARGV[10])) then refuse_arguments() end
if started_at ~= '' then number(started_at) end
expect('meta', 'buckets', 'jobs', 'states', 'due', 'turns', 'idle', 'deadlines', 'leases', 'wake')
local replay = redis.call('GET', K.op .. operation)
if replay then return cmsgpack.unpack(replay) end
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end
local meta = read_meta()
local name, state, bucket = ARGV[4], nil, nil
if cost then
  state = { id = name, key = ARGV[5], cost = cost, charged = ARGV[9], settings = '-' .. ARGV[10], attempt = 1, fence = fence, departedAt = number(started_at) }
  bucket = read_bucket(ARGV[5]) or meta.hasTotals and family.forgotten(ARGV[5])
else
  local _, found = find_job(ARGV[4], ARGV[5], read_job)
  name, state = found, read_state(found)
end
local may_start = state.state == 'granted' and started_at ~= ''
local is_meant = state.fence == fence
-- After a freeze or a crash the same number starts again, and does not say which start is meant.
if not fence then is_meant = not is_turn(name) and not (attempt and state.kind == 'back') end
is_meant = is_meant and (not attempt or state.attempt == attempt)
if not cost and is_meant and (state.state == 'running' or may_start) and not state.isSettled then bucket = read_bucket(state.key) end
if not bucket then return { 'none' } end
if not bucket.isForgotten then read_list(bucket, 'handed') end

local amounts = {}
for at = 14, 13 + units * 2, 2 do amounts[ARGV[at]] = number(ARGV[at + 1]) end
local unknown = usage.unknown_unit(bucket, amounts)
if unknown then return bucket.isForgotten and { 'none' } or unknown end
if may_start then
  started_at = started_by(meta, number(started_at), now)
  if started_at < meta.watchedUntil then note_start(meta, bucket, name, started_at) end
  start(bucket, state, started_at)
  redis.call('ZREM', K.deadlines, name)
  -- The report of the start, which comes after this, finds a turn that runs, and leaves its lease alone.
  if is_turn(name) then hold_lease(meta, name, now + TURN_LEASE) end
end
local lost_at = is_again and INF or cost and meta.lostAt or -INF
if not bucket.isForgotten then usage.settle(bucket, state, amounts, now, lost_at) end
if bucket.member then family.settle_costs(bucket, state, amounts, now, lost_at) end
if not cost then write_state(state) end
if not bucket.isForgotten then reschedule(bucket, meta) end
local answer = { 'ok', text(now), state.key, text(state.cost), text(state.attempt), text(state.fence) }
redis.call('SET', K.op .. operation, cmsgpack.pack(answer), 'PX', 10000)
return answer
