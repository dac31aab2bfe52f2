-- The verdict under a limit with further parts: `judgeParts` of src/core/verdict.ts. It follows the jobs ahead one by one.

do
  -- Follows the line from now on. It is kept with the bucket, so that a call that judges many requests follows it once.
  local function walk_of(bucket, now)
    if bucket.walk then return bucket.walk end
    local parts, walk = usage.of(bucket), usage.walk_from(bucket, now)
    walk.unread = bucket.waiting - bucket.grantedCost
    local next_one = departures(bucket, now)
    while walk.steps < usage.FARTHEST_STEP do
      local entry = next_one()
      if not entry then break end
      usage.depart(walk, bucket, entry.cost, usage.charges_of(parts, entry.id, entry.cost), entry.readyAt)
      walk.unread = walk.unread - entry.cost
    end
    bucket.walk = walk
    return walk
  end

  -- When `missing` units will have departed.
  local function room_after(walk, bucket, missing, now)
    local function soon(at) return at > now and at or now + bucket.interval end
    missing = missing - bucket.grantedCost
    if missing <= 0 then return soon(bucket.grantedSlot) end
    for step = 1, walk.steps do
      missing = missing - walk.costs[step]
      if missing <= 0 then return soon(walk.times[step]) end
    end
    return usage.behind(walk, bucket, missing - 1)
  end

  -- As `judge` of verdict.lua; and whether the times are estimates, and the number of the quota that the job alone exceeds. Returns
  -- how many jobs were looked at last.
  function usage.judge(bucket, cost, settings, deadline, now)
    local parts = usage.of(bucket)
    local charges = usage.charges(parts, cost, settings)
    for index, part in ipairs(parts.quotas) do
      if charges[index] > part.amount then return nil, 'too-costly', INF, false, index, 0 end
    end
    local looked = bucket.walk and 0 or INF
    quota.isBeyond = bucket.isBeyond
    local walk = walk_of(bucket, now)
    -- A step takes longer than to look at an entry: one long line is enough for a call.
    looked = math.min(looked, math.ceil(1.25 * walk.steps))
    local missing = bucket.waiting + cost - bucket.capacity
    local room = missing > 0 and room_after(walk, bucket, missing, now) or now
    local departs_at = walk.unread > 0 and usage.behind(walk, bucket, walk.unread) or usage.depart_at(walk, bucket, charges)
    -- No process has said yet when the clocks of the zone are set then.
    bucket.isBeyond = quota.isBeyond
    local is_estimate = walk.unread > 0 or bucket.inRetry > 0 or parts.places ~= nil or bucket.isBeyond or false
    local late = departs_at - deadline
    local in_time = late > ROUNDING and now + late or now
    if in_time > room then return nil, 'deadline', in_time, is_estimate, nil, looked end
    if room > now then return nil, bucket.paused == 1 and 'paused' or 'full', room, is_estimate, nil, looked end
    if bucket.paused == 1 and deadline ~= INF then return nil, 'paused', now + bucket.interval, false, nil, looked end
    local retries_ahead = math.min(bucket.inRetry, bucket.inLine + 1 - bucket.linesTurn)
    return departs_at, bucket.inLine + bucket.inHanded + bucket.inBack + retries_ahead + 1, nil, is_estimate, nil, looked
  end

  -- Behind the settings of a job whose time is an estimate stands a mark, for when its request comes again.
  function usage.marked(settings, is_estimate)
    return is_estimate and string.gsub(settings, '^%S+', '%0~', 1) or settings
  end

  function usage.is_marked(settings)
    return string.find(settings, '^%S*~') ~= nil
  end

  -- The job that was judged last joins the line.
  function usage.join(bucket, cost, settings)
    local walk = bucket.walk
    if not walk then return end
    if bucket.inRetry > 0 then bucket.walk = nil
    elseif walk.steps == usage.FARTHEST_STEP then walk.unread = walk.unread + cost
    else usage.depart(walk, bucket, cost, usage.charges(bucket.parts, cost, settings)) end
  end
end
