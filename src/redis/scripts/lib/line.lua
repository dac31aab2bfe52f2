-- A bucket's line: how many jobs wait in it, and when the next one departs.

-- Reads the lengths of all lists of a bucket, which checks that they are ours and complete. Called before a verb that may touch
-- any of them.
local function read_line(bucket)
  if bucket.member then family.totals_of(bucket) end
  read_blocks(bucket)
  for name in pairs(COUNTS) do read_count(bucket, name) end
  usage.of(bucket)
  return bucket
end

-- The same for a verb that touches only one of them, 'line' or 'handed', and what `reschedule` reads: where the limit has further
-- parts, the head of the line, too.
local function read_list(bucket, name)
  if bucket.member then family.totals_of(bucket) end
  local has_parts = usage.of(bucket) ~= nil
  if name == 'handed' then read_count(bucket, 'handed') end
  if name == 'line' or bucket.turns > 0 or has_parts then read_blocks(bucket) end
  if bucket.inRetry > 0 then read_count(bucket, 'retry') end
  if bucket.inBack > 0 and has_parts then read_count(bucket, 'back') end
  return bucket
end

local function retrying(bucket)
  return bucket.inRetry + bucket.inBack
end

local function jobs_without_slot(bucket)
  return bucket.inLine + bucket.inHanded + retrying(bucket) - (bucket.granted ~= '' and 1 or 0)
end

-- Adds cost units to, or subtracts them from, those that wait to be tried again; `kind` is where the job stands.
local function count_returned(bucket, kind, units)
  if kind == 'line' then return end
  bucket.returned = bucket.returned + units
  if kind == 'back' then bucket.backUnits = bucket.backUnits + units end
end

local function has_line(bucket)
  return bucket.inLine > 0 or bucket.inBack > 0
end

-- When the pace lets a job go that has so many units before it.
local function slot_behind(bucket, units, now)
  local slot = next_slot(bucket, now)
  return slot + spacing(bucket, warmth_at(bucket, slot), units)
end

-- When the next job to be handed over departs; Infinity when there is none. And which one that is, if that is asked and the limit has
-- further parts. What totals above it say comes on top.
local function due_of(bucket, needs_head)
  if bucket.paused == 1 or bucket.inLine + retrying(bucket) == 0 then return INF end
  local slot = slot_behind(bucket, bucket.handed, bucket.from)
  if not has_line(bucket) then
    local _, ready_at = usage.first_retry(bucket)
    slot = math.max(slot, ready_at)
  end
  if not usage.of(bucket) or not needs_head and usage.is_free(bucket, slot) then return slot end
  local head = peek_head(bucket, slot)
  local due = usage.due_of(bucket, head, slot)
  local at, retry = usage.retry_before(bucket, slot, due)
  return at or due, retry or head
end

-- Buckets with a turn at the head of the line are kept in a set of their own, because turns are handed over without workers.
-- `dues`: collects the arguments of one ZADD to `:due` for many buckets, and keys for others: see later.lua.
local function schedule_due(bucket, due, dues)
  if bucket.before then family.enter(bucket) end
  if bucket.member then return family.stand_bucket(bucket, due) end
  local head = bucket.turns > 0 and first_member(bucket)
  local name, other = 'due', 'turns'
  if head and is_turn(head) then name, other = other, name end
  if dues and name == 'due' then
    local n = #dues
    dues[n + 1], dues[n + 2] = due, bucket.key
  else redis.call('ZADD', K[name], due, bucket.key) end
  if bucket.hadTurns or bucket.turns > 0 then redis.call('ZREM', K[other], bucket.key) end
  return name == 'turns' and 'wakeTurns' or 'wakeDue'
end

local function unschedule_due(bucket, dues)
  if bucket.before then family.enter(bucket) end
  if bucket.member then return family.stand_bucket(bucket, INF) end
  if dues then dues.left[#dues.left + 1] = bucket.key else redis.call('ZREM', K.due, bucket.key) end
  if bucket.hadTurns or bucket.turns > 0 then redis.call('ZREM', K.turns, bucket.key) end
end

-- Schedules the bucket's next event: in `:due`, in `:idle`, or in neither. Does not write the bucket.
local function schedule(bucket, meta, dues)
  -- The worker that has some jobs of a fast bucket asks for the next ones.
  local due = bucket.inHanded > 0 and usage.may_run(bucket) and INF or due_of(bucket)
  local was_idle, jobs = bucket.isIdle, bucket.inLine + retrying(bucket) + bucket.inHanded + bucket.running
  bucket.isIdle = jobs == 0 and bucket.paused == 0
  if bucket.isIdle and dues then dues.idle[#dues.idle + 1], dues.idle[#dues.idle + 2] = forgettable_at(bucket), bucket.key
  elseif bucket.isIdle then redis.call('ZADD', K.idle, forgettable_at(bucket), bucket.key)
  elseif was_idle then redis.call('ZREM', K.idle, bucket.key) end
  if due == INF then return unschedule_due(bucket, dues) end
  local name = schedule_due(bucket, due, dues)
  if name then wake_for(meta, due, name) end
end

-- Schedules its next event, and writes the bucket.
local function reschedule(bucket, meta)
  schedule(bucket, meta)
  write_bucket(bucket)
end

-- The same, with the time before which the head does not depart.
local function reschedule_from(bucket, meta, from)
  bucket.from = from
  reschedule(bucket, meta)
end

local function read_bucket_and_line(key)
  local bucket = read_bucket(key)
  return bucket and read_line(bucket)
end
