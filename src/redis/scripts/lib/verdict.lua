-- The verdict on a request: `judge` of src/core/verdict.ts, for a line in Redis.

-- Entries that this call has looked at.
local looked_at = 0

-- Cost units of the jobs that failed and wait for a retry.
local function retry_units(bucket)
  return bucket.returned - bucket.backUnits
end

-- When a new job departs, and how many retries depart before it.
local function departure_behind(bucket, projection)
  if bucket.inRetry > 0 then return entries.departure_past_retries(bucket, projection) end
  return projection.slot + spacing(bucket, projection.warmth, bucket.waiting - bucket.grantedCost), 0
end

local function judge_alone(bucket, cost, settings, deadline, now)
  if cost > bucket.capacity then return nil, 'too-costly', INF end
  if not bucket.projection then
    forget_old_time(bucket, now)
    bucket.projection = projection_of(bucket, now)
  end
  if bucket.parts and bucket.parts.isBinding then return usage.judge(bucket, cost, settings, deadline, now, departure_behind) end
  local departs_at, retries_ahead = departure_behind(bucket, bucket.projection)
  local late = departs_at - deadline
  local in_time = late > ROUNDING and now + late or now
  local is_paused = bucket.paused == 1
  local excess = bucket.waiting + cost - bucket.capacity
  if excess > 0 then
    local room, is_exact = entries.departure_of(excess, bucket, now)
    if in_time > room then return nil, 'deadline', in_time, is_paused end
    return nil, is_paused and 'paused' or 'full', room, is_paused or not is_exact
  end
  if in_time > now then return nil, 'deadline', in_time, is_paused end
  if is_paused and deadline ~= INF then return nil, 'paused', now + bucket.interval, true end
  return departs_at, bucket.inLine + bucket.inHanded + bucket.inBack + retries_ahead + 1, nil, is_paused
end

-- Returns departsAt and position; or nil, the reason, and when the same request would be accepted. What `usage.judge` and
-- `family.judge` return besides comes last.
local function judge(bucket, cost, settings, deadline, now)
  if not bucket.member then return judge_alone(bucket, cost, settings, deadline, now) end
  return family.judge(bucket, cost, settings, deadline, now, judge_alone(bucket, cost, settings, deadline, now))
end
