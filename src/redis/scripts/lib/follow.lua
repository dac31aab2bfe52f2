-- The verdict under a limit with further parts: `judgeParts` of src/core/verdict.ts. Only where a quota might hold a job on the way, it
-- follows the jobs ahead one by one.
-- of: usage

do
  -- How much longer it takes to begin, and to follow a job, than to look at an entry: by the quotas. What its costs take is in
  -- `usage.work`.
  local FIRST, STEP, ROLLING, CALENDAR = 3, 1.5, 0.7, 1.2
  -- Settings with the mark of an estimate, by those without.
  local marked = {}

  -- The line from now on. It is kept with the bucket, so that a call that judges many requests follows it once.
  local function walk_of(bucket, now)
    if bucket.walk then return bucket.walk end
    bucket.walk, looked_at = usage.walk_from(bucket, now), looked_at + FIRST
    bucket.walk.unread, bucket.walk.nextOne = bucket.waiting - bucket.grantedCost, entries.departures(bucket, now)
    bucket.walk.weight = STEP
    for _, part in ipairs(bucket.parts.quotas) do bucket.walk.weight = bucket.walk.weight + (part.length and ROLLING or CALENDAR) end
    return bucket.walk
  end

  -- Follows the next job; returns whether there was one, and it is not too far.
  local function step(walk, bucket)
    local entry = walk.steps < quota.FARTHEST_STEP and walk.nextOne()
    if not entry then
      walk.isOver = true
      return false
    end
    usage.depart(walk, bucket, entry.cost, usage.charges_of(bucket.parts, entry.id, entry.cost), entry.readyAt)
    walk.unread = walk.unread - entry.cost
    looked_at = looked_at + walk.weight
    return true
  end

  -- When `missing` units will have departed, and whether that is exact.
  local function room_behind(bucket, missing, now)
    local function soon(at) return at > now and at or now + bucket.interval end
    missing = missing - bucket.grantedCost
    if missing <= 0 then return soon(bucket.grantedSlot), true end
    local walk, at = walk_of(bucket, now), 0
    repeat
      at = at + 1
      if at > walk.steps and not step(walk, bucket) then return usage.behind(walk, bucket, missing - 1), false end
      missing = missing - walk.costs[at]
    until missing <= 0
    return soon(walk.times[at]), not (walk.earlierFrom and walk.earlierFrom <= at)
  end

  -- Whether a quota might hold a job with these charges behind all that waits, or one of those. How many more fit is counted once for many.
  local function may_hold(bucket, charges, now)
    if bucket.fittingFor ~= charges then bucket.fittingFor, bucket.fitting = charges, usage.fitting(bucket, charges) end
    if bucket.fitting > 0 then return false end
    if not usage.is_counted(bucket) and jobs_without_slot(bucket) <= quota.FARTHEST_STEP then
      usage.recount(bucket, entries.departures(bucket, now))
      bucket.fittingFor = nil
    end
    return usage.may_hold(bucket, charges, now)
  end

  -- When a job departs behind the whole line, how many retries depart before it, whether all jobs before it were followed, and whether
  -- it may depart earlier.
  local function behind(bucket, charges, now, by_pace)
    if not may_hold(bucket, charges, now) then
      local departs_at, retries_ahead = by_pace(bucket, bucket.projection)
      return departs_at, retries_ahead, true, false
    end
    local walk = walk_of(bucket, now)
    while not walk.isOver do step(walk, bucket) end
    local retries_ahead = math.min(bucket.inRetry, bucket.inLine + 1 - bucket.linesTurn)
    if walk.unread > 0 then return usage.behind(walk, bucket, walk.unread), retries_ahead, false, walk.earlierFrom ~= nil end
    local at, _, may_be_earlier = usage.depart_at(walk, bucket, charges)
    return at, retries_ahead, true, may_be_earlier
  end

  -- As `judge` of verdict.lua; and whether the time is an estimate, and the number of the quota that the job alone exceeds.
  function usage.judge(bucket, cost, settings, deadline, now, by_pace)
    local parts = bucket.parts
    local charges = usage.charges(parts, cost, settings)
    if charges.above then return nil, 'too-costly', INF, false, charges.above end
    quota.isBeyond = bucket.isBeyond or false
    local missing = bucket.waiting + cost - bucket.capacity
    local room, is_room_exact, departs_at, retries_ahead, is_followed, may_be_earlier = now, true, -INF, 0, true, false
    if missing > 0 then room, is_room_exact = room_behind(bucket, missing, now) end
    -- How far the line reaches matters to a job that gets in, or has a deadline.
    if room == now or deadline < INF then departs_at, retries_ahead, is_followed, may_be_earlier = behind(bucket, charges, now, by_pace) end
    -- No process has said yet when the clocks of the zone are set then.
    bucket.isBeyond = quota.isBeyond
    local is_uncertain = bucket.inRetry > 0 or parts.places ~= nil or bucket.isBeyond
    local is_paused = bucket.paused == 1
    local is_estimate = is_uncertain or not is_followed or may_be_earlier or is_paused
    local late = deadline < INF and usage.reached_at(bucket, departs_at, deadline, now) - deadline or -INF
    local in_time = late > ROUNDING and now + late or now
    local is_sure = in_time > now and (not may_be_earlier or usage.is_surely_late(bucket, charges, deadline, now))
    if is_sure and in_time > room then return nil, 'deadline', in_time, is_estimate end
    -- By then it may be sure to be late.
    if room > now then return nil, is_paused and 'paused' or 'full', room, is_uncertain or not is_room_exact or is_paused or in_time > room end
    if is_paused and deadline ~= INF then return nil, 'paused', now + bucket.interval, true end
    return departs_at, bucket.inLine + bucket.inHanded + bucket.inBack + retries_ahead + 1, nil, is_estimate
  end

  -- Behind the settings of a job whose time is an estimate stands a mark, for when its request comes again.
  function usage.marked(settings)
    marked[settings] = marked[settings] or string.gsub(settings, '^%S+', '%0~', 1)
    return marked[settings]
  end

  function usage.is_marked(settings)
    return string.find(settings, '^%S*~') ~= nil
  end

  -- The job that was judged last joins the line.
  function usage.join(bucket, cost, settings)
    local walk = bucket.walk
    if bucket.fitting then bucket.fitting = bucket.fitting - 1 end
    -- Entries that were read do not show it.
    if not walk or not walk.isOver or bucket.inRetry > 0 then bucket.walk = nil
    elseif walk.steps == quota.FARTHEST_STEP then walk.unread = walk.unread + cost
    else usage.depart(walk, bucket, cost, usage.charges(bucket.parts, cost, settings)) end
  end
end
