#!lua flags=allow-oom
-- Holds a bucket, or releases it: no departures before a time (a shorter freeze never shortens a longer one) or until
-- that freeze is lifted, or until the bucket is resumed.
-- uses: shard forward loss lease job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace state blocks next due line sums waiting member summed chain total overdue share standing places rule
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', not-after | '', operation, verb (freeze | unfreeze | pause | resume), key, duration | '', whether there is
--          room for a new bucket ('1' | '0'), version of the caller's rule book, its number of shards, pattern, capacity, interval, tolerance, warm-up, cold interval, limit
-- Answers  { 'old-book', version } | { 'shards', number } | { 'late' } | { 'no-limit' } | { 'no-room' } | { 'ok', at, frozen until, slot of a job that departs all the same | '0',
--          '1' if a freeze was lifted | '0' }

local REMEMBERED_MS = 10000

local now = read_now(ARGV[1])
expect_arguments(16)
local operation, verb, key, duration = ARGV[3], ARGV[4], ARGV[5], number(ARGV[6])
expect('meta', 'buckets', 'due', 'turns', 'idle', 'wake')
local replay = redis.call('GET', K.op .. operation)
if replay then return cmsgpack.unpack(replay) end
if ARGV[2] ~= '' and now > number(ARGV[2]) then return { 'late' } end

-- What found nothing to lift must not lift, sent once more, what has begun since.
local function answered(until_, departs_at, is_lifted)
  local answer = { 'ok', text(now), text(until_), text(departs_at), is_lifted and '1' or '0' }
  redis.call('SET', K.op .. operation, cmsgpack.pack(answer), 'PX', REMEMBERED_MS)
  return answer
end

local meta = read_meta()
local book = number(ARGV[8])
local rule = read_rule(10, book)
local refusal = outdated(meta, book, number(ARGV[9]))
if refusal then return refusal end
-- A new freeze must not be moved back with those from before the step. And a step must be seen that comes before any worker has called.
if meta.heardAt == 0 then note_activity(meta, now) else heed_clock(meta, now) end
if is_total(key) and rule.chain ~= '' and (family.total(key) or verb == 'freeze' or verb == 'pause') then family.keep_chain(rule.chain, book, now) end
local bucket = (is_total(key) and family.total or read_bucket)(key)
if not bucket and (verb == 'resume' or verb == 'unfreeze') then return answered(0, 0) end
if not bucket and ARGV[10] == '' then return { 'no-limit' } end
if not bucket and ARGV[7] == '0' then return { 'no-room' } end
if not bucket then
  bucket = new_bucket(key, meta.numbers + 1, rule, now)
  redis.call('HINCRBY', K.meta, 'numbers', 1)
end
if not bucket.isTotal then read_line(bucket) end
local lifts = verb == 'unfreeze' and bucket.frozen > now
if verb == 'unfreeze' and not lifts then return answered(0, 0) end
local from = -INF
if verb == 'freeze' then freeze(bucket, now + duration)
elseif verb == 'pause' then bucket.paused = 1
elseif lifts then bucket.frozen, from = 0, now
else bucket.paused, from = 0, now end
if bucket.isTotal then family.touch(bucket)
else
  if bucket.inHanded > 0 then from = bucket.from end
  reschedule_from(bucket, meta, from)
end

-- When the last job departs that a worker was given to start without asking for its slot, as far as is known; 0: there is none. A few
-- that have no slot may stand behind it: turns, and others since the limit was changed.
local function last_of_run()
  if bucket.isTotal or bucket.inHanded == 0 then return 0 end
  local members = redis.call('LRANGE', K.handed .. bucket.suffix, 0, -1)
  for index = #members, 1, -1 do
    local is_readable, state = pcall(read_state, parse_member(members[index]))
    if is_readable and state.state == 'granted' then return state.slot end
  end
  return 0
end

local departs_at = math.max(bucket.grantedSlot, last_of_run())
-- One that is further away is from before the clock was set back: no caller is to wait for it.
return answered(bucket.frozen, math.min(departs_at, now + 2 * FARTHEST_SLOT), lifts)
