-- Whether a job certainly misses its deadline: `reachedAt` and `isSureBy` of src/core/verdict.ts.
-- of: usage

do
  -- A step along jobs that were read before.
  local STEP = 0.5

  -- With what a deadline is compared: where retries wait, with the time at which it would depart past all of them, as it does past those
  -- that are not ready yet.
  function usage.reached_at(bucket, departs_at, deadline, now)
    if bucket.inRetry == 0 then return departs_at end
    local projection = projection_of(bucket, now)
    local units = bucket.waiting - bucket.grantedCost - retry_units(bucket)
    return math.min(departs_at, projection.slot + spacing(bucket, projection.warmth, units))
  end

  -- The line, which was followed to its end, on its earliest way. It is kept, and catches up with jobs that join.
  local function soonest_of(bucket, now)
    local walk = bucket.walk
    walk.soonest = walk.soonest or usage.walk_from(bucket, now, true)
    for step = walk.soonest.steps + 1, walk.steps do
      usage.depart(walk.soonest, bucket, walk.costs[step], walk.charges[step])
      looked_at = looked_at + STEP
    end
    return walk.soonest
  end

  -- Whether a job that may depart earlier than it was told still departs after its deadline, whatever is settled. What will be settled
  -- later lets nothing depart now.
  function usage.is_surely_late(bucket, charges, deadline, now)
    if bucket.inRetry > 0 or deadline <= now then return true end
    local soonest, unread = soonest_of(bucket, now), bucket.walk.unread
    local at = unread > 0 and usage.behind(soonest, bucket, unread) or usage.depart_at(soonest, bucket, charges)
    return at - deadline > ROUNDING
  end
end
