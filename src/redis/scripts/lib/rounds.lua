-- Round robin over the due buckets, so that a bucket with a deep line does not delay the others.

-- Jobs of one bucket, whatever its rate: they start one after the other, and jobs of other buckets wait behind them in the
-- transport.
local MOST_HANDED = 16

-- When a claim looks again at what it cannot read. Where a time zone is missing, processes write it soon.
local function readable_from(now)
  return now + (quota.isZoneMissing and 1000000 or UNREADABLE)
end

-- A bucket that cannot be read must not hold up the others; a verb that names it raises the error.
local function skip_unreadable(key, now)
  for _, name in ipairs({ 'due', 'turns' }) do redis.call('ZADD', K[name], 'XX', readable_from(now), key) end
end

-- The same where its head cannot be handed over.
local function put_aside(bucket, now)
  if bucket.member then family.skip(family.totals_of(bucket)[1], bucket.key) else skip_unreadable(bucket.key, now) end
end

-- How many jobs of a bucket may be handed over and not started.
local function window_of(bucket, look_ahead)
  -- The worker that takes the first of its jobs asks for the others: see verbs/follow.lua.
  if usage.may_run(bucket) then return 1 end
  return math.max(1, math.min(MOST_HANDED, math.ceil(look_ahead / bucket.interval)))
end

-- The buckets of 'due' or 'turns' whose heads are due, and the outermost totals below which one is.
local function due_buckets(name, now, look_ahead, most)
  local buckets = {}
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', K[name], '-inf', now + look_ahead, 'LIMIT', 0, most)) do
    if usage.is_enough(#buckets) then break end
    local is_readable, bucket = pcall(is_total(key) and family.total or read_bucket_and_line, key)
    if not is_readable then skip_unreadable(key, now)
    elseif bucket then
      bucket.window = window_of(bucket, look_ahead)
      buckets[#buckets + 1] = bucket
    else
      redis.call('ZREM', K.due, key)
      redis.call('ZREM', K.turns, key)
    end
  end
  return buckets
end

-- Visits each of them once a round, until `visit` returns false for it.
local function in_rounds(buckets, visit)
  while #buckets > 0 do
    local left = {}
    for _, bucket in ipairs(buckets) do
      if visit(bucket) then left[#left + 1] = bucket end
    end
    buckets = left
  end
end

-- When the head is taken another job may be first than the one by which the bucket was due. Puts the bucket off where that one has to
-- wait beyond `latest`.
function usage.is_put_off(bucket, meta, member, due, latest)
  due = usage.due_of(bucket, member, due)
  if due <= latest then return false end
  local name = schedule_due(bucket, due)
  if name then wake_for(meta, due, name) end
  write_bucket(bucket)
  return true
end

-- What handing a job over takes, in `usage.work`.
local HANDING = 7

-- Whether the call has taken as long as handing MOST_PER_CLAIM jobs over under a pace alone; `jobs`: so many it has. The bucket is still
-- due.
function usage.is_last(bucket, meta, jobs)
  if usage.work == 0 or jobs * HANDING + usage.work < MOST_PER_CLAIM * HANDING then return false end
  if bucket.isHandedOn then reschedule(bucket, meta) end
  usage.isEnough = true
  return true
end
