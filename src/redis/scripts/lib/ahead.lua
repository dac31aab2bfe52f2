-- Which jobs depart before another one: the first are looked at one by one, those behind them are counted.

-- So many blocks are counted one by one to find the place of a job in the line.
local MOST_BLOCKS = 64

-- How many jobs stand before it; nil where it is not in the line. Far back the number may be too high, by the jobs that were
-- removed from the middle.
local function position_of(bucket, block, member)
  local index = redis.call('LPOS', block_key(bucket, block), member)
  if not index then
    block = bucket.front
    index = redis.call('LPOS', block_key(bucket, block), member)
  end
  if not index or block == bucket.front then return index or nil end
  local between = redis.call('ZRANK', K.blocks .. bucket.suffix, block)
  local place = redis.call('LLEN', block_key(bucket, bucket.front)) + index
  if between > 0 then
    for _, other in ipairs(redis.call('ZRANGE', K.blocks .. bucket.suffix, 0, math.min(between, MOST_BLOCKS) - 1)) do
      place = place + redis.call('LLEN', block_key(bucket, tonumber(other)))
    end
  end
  return math.min(bucket.inLine - 1, place + BLOCK * math.max(0, between - MOST_BLOCKS))
end

-- The first jobs of the order of departure. Where no job came back, each costs 1 and the limit is a pace alone, sums say all of the
-- others.
local function first_in_order(bucket, now)
  local is_plain = not usage.of(bucket) and retrying(bucket) == 0 and bucket.turns == 0 and bucket.waiting - bucket.grantedCost == jobs_without_slot(bucket)
  return entries.first(bucket, now, is_plain and math.max(MOST_NAMED, bucket.inHanded) or MOST_READ)
end

-- What stands before a job that is not among the first, `order`, and was not looked at: how many jobs, and what they cost if each
-- costs the average. Exact without retries; each of those is assumed to be ready when it gets a slot, so no position is too low.
local function unread_before(bucket, job, state, order, now)
  local read, units = { line = 0, retry = 0, back = 0, handed = 0 }, bucket.waiting - bucket.grantedCost
  for _, entry in ipairs(order) do
    units = units - entry.cost
    read[entry.kind] = read[entry.kind] + 1
  end
  local unread = jobs_without_slot(bucket) - #order
  if unread <= 0 then return 0, 0 end
  local line, retries, back = bucket.inLine - read.line, bucket.inRetry - read.retry, bucket.inBack - read.back
  local jobs
  if state.kind == 'back' then
    jobs = back - 1
  elseif state.kind == 'retry' then
    -- Those that depart before it is ready, and then one before each retry.
    local slot = projection_of(bucket, now).slot + bucket.interval * (bucket.waiting - bucket.grantedCost - units)
    local until_ready = math.max(0, math.ceil((state.readyAt - slot) / bucket.interval))
    jobs = back + retries - 1 + math.min(line, until_ready + retries)
  else
    local place = position_of(bucket, job.block, member_of(job))
    local before = place and math.max(0, place - read.line) or 0
    jobs = back + before + math.min(retries, before + 1)
  end
  jobs = math.max(0, jobs)
  return jobs, math.floor(jobs * units / unread + 0.5)
end
