-- What every verb of a shard needs: the shard's own numbers, and checks for foreign and missing keys.

-- A sweep looks again at a record that cannot be read after this time.
local UNREADABLE = 60000000

-- A scheduler claims at least every 1.5 s, and a worker renews within a third of its lease: when none of them has called for
-- longer than this, none could reach Redis, or the clock was set forward.
local SILENCE = 2000000
-- All processes report the same step within this time, each of them once.
local SAME_STEP = 10000000

-- Within this time the caller's process takes a turn from its inbox: all jobs behind it wait for that.
local NEWS = 1000000

-- The id of a turn names the process of its caller: ~caller~rest. No other id begins with ~.
local function is_turn(id)
  return string.byte(id) == 126
end

local function caller_of(id)
  return string.match(id, '^~([%w_-]+)~')
end

local is_missing = {}

-- Checks that the keys which the verb may write to are of our types, or missing. The lists of a bucket are read before they are
-- written, which checks the same.
local function expect(...)
  for _, name in ipairs({ ... }) do
    local kind = redis.call('TYPE', K[name]).ok
    if kind == 'none' then is_missing[name] = true elseif kind ~= type_of(name) then foreign(name) end
  end
end

local function counter(value)
  if not value then return 0 end
  local number_ = tonumber(value)
  if not number_ or number_ ~= number_ then foreign('meta') end
  return number_
end

-- The same for a number that a command of Redis adds to, which takes whole ones only.
local function whole_counter(value)
  if value and not string.find(value, '^%d+$') then foreign('meta') end
  return counter(value)
end

-- While jobs are alive, records of jobs and buckets exist. Checked before an unknown key or id is taken for a new one.
local function expect_whole(meta)
  if meta.admitted > meta.ended and redis.call('EXISTS', K.buckets, K.jobs) < 2 then partial('buckets, jobs') end
end

-- Ends of freezes, times of retries and when jobs ended are kept with all added that the clock was set back by before: so one number
-- moves all of them at once. Read apart only where the numbers of the shard are not.
local set_back_by
local function set_back()
  if not set_back_by then set_back_by = counter(redis.call('HGET', K.meta, 'setBack')) end
  return set_back_by
end

-- Whether two segments use one id: see name.lua. Read apart only where the numbers of the shard are not.
local has_twins

local function note_set_back(by)
  set_back_by = set_back() + by
  redis.call('HSET', K.meta, 'setBack', set_back_by)
end

-- The numbers that `read_meta` has read.
local known_meta

-- The numbers of the shard; a missing field was not needed yet. Where all of them are missing, no bucket may exist; and where
-- `expect` found no buckets or jobs, no job may be alive.
local function read_meta()
  local values = redis.call('HMGET', K.meta, 'run', 'quarantine', 'book', 'wakeDue', 'numbers', 'fence', 'admitted', 'ended',
    'wakeTurns', 'watchedUntil', 'epoch', 'granted', 'heardAt', 'lifted', 'rejected', 'costliest', 'lostAt', 'lostCost',
    'shards', 'steps', 'stepTellers', 'rewind', 'name', 'kept', 'resend', 'setBack', 'quotas', 'twins', 'totals')
  local meta = {
    run = values[1] or '', quarantine = counter(values[2]), book = counter(values[3]), wakeDue = counter(values[4]),
    numbers = whole_counter(values[5]), fence = counter(values[6]), admitted = counter(values[7]), ended = whole_counter(values[8]),
    wakeTurns = counter(values[9]), watchedUntil = counter(values[10]), epoch = counter(values[11]),
    granted = counter(values[12]), heardAt = counter(values[13]), lifted = counter(values[14]), rejected = counter(values[15]),
    costliest = counter(values[16]), lostAt = counter(values[17]), lostCost = counter(values[18]),
    shards = counter(values[19]), steps = values[20] or '', stepTellers = values[21] or '', rewind = values[22] or '', name = values[23] or '',
    kept = whole_counter(values[24]), resend = values[25] or '',
    hasQuotas = values[27] == '1', hasTotals = values[29] ~= false, newlyEnded = 0, turnsEnded = false, toRemember = {}, sentBack = 0,
  }
  meta.keptBefore, set_back_by, has_twins = meta.kept, counter(values[26]), values[28] ~= false
  known_meta = meta
  -- As loss.steps has them, which may be called when something is written.
  if #meta.steps % 16 ~= 0 then foreign('meta') end
  if meta.numbers == 0 and redis.call('EXISTS', K.buckets, K.jobs) > 0 then partial('meta') end
  if meta.admitted > meta.ended and (is_missing.buckets or is_missing.jobs) then partial('buckets, jobs') end
  -- What totals count is read late, when something was written.
  if meta.hasTotals and meta.hasQuotas and not family.isReadOnly then expect('quotas') end
  return meta
end

-- The answer for a caller whose rule book or number of shards is out of date, or nil. A line has a number of shards from its
-- first opening; until then, and after a loss, there is no rule book either.
local function outdated(meta, book, shards)
  if meta.shards ~= 0 and shards ~= meta.shards then return { 'shards', text(meta.shards) } end
  if book ~= meta.book then return { 'old-book', text(meta.book) } end
end

-- A fence or epoch: larger than any before, even after a failover that lost the latest ones, and never reused after the record of
-- a job was forgotten. The caller writes meta.
local function next_stamp(meta, name, now)
  meta[name] = math.max(meta[name] + 1, math.floor(now))
  return meta[name]
end

-- Wakes a scheduler if all of them sleep beyond `due`. `name`: the field with the time of their wake-up, 'wakeDue' or
-- 'wakeTurns'.
local function wake_for(meta, due, name)
  if due >= meta[name] and meta[name] ~= 0 then return end
  meta[name] = due
  redis.call('HSET', K.meta, name, due)
  if redis.call('LLEN', K.wake) == 0 then redis.call('LPUSH', K.wake, '1') end
end
