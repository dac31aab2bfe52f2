-- The way along a line under a limit with further parts, job by job: `Walk` of src/core/walk.ts.

do
  -- Begins a walk with what counts now. `times` and `costs`: of the jobs that departed on it.
  function usage.walk_from(bucket, now)
    local parts, use = usage.of(bucket)
    local projection = projection_of(bucket, now)
    local walk = { from = projection.slot, warmth = projection.warmth, together = 0, last = projection.slot, use = {}, times = {}, costs = {}, steps = 0 }
    for index in ipairs(parts.quotas) do walk.use[index] = usage.count_from(use[index], projection.slot) end
    return walk
  end

  local function slot_of(walk, bucket)
    return walk.from + spacing(bucket, walk.warmth, walk.together)
  end

  -- When a job departs behind those so far, and the slot that it has by the pace.
  function usage.depart_at(walk, bucket, charges, ready_at)
    local slot = slot_of(walk, bucket)
    local at, later = nil, math.max(slot, ready_at or slot)
    while later ~= at do
      at = later
      for index, part in ipairs(bucket.parts.quotas) do later = usage.room_in(walk.use[index], part, charges[index], later) end
    end
    return at, slot
  end

  function usage.depart(walk, bucket, cost, charges, ready_at)
    local at, slot = usage.depart_at(walk, bucket, charges, ready_at)
    for index, part in ipairs(bucket.parts.quotas) do
      usage.count_in(walk.use[index], part, charges[index], at)
      walk.hasOversized = walk.hasOversized or charges[index] > part.amount
    end
    if at > slot then
      local work = spacing(bucket, walk.warmth, walk.together)
      walk.warmth = cooled_by(warmed_by(bucket, walk.warmth, work), at - (walk.from + work))
      walk.from, walk.together = at, 0
    end
    walk.together, walk.last, walk.steps = walk.together + cost, at, walk.steps + 1
    walk.times[walk.steps], walk.costs[walk.steps] = at, cost
  end

  -- A time before which no job departs that stands behind those so far and `units` more.
  function usage.behind(walk, bucket, units)
    local latest = walk.from + spacing(bucket, walk.warmth, walk.together + units)
    if walk.hasOversized then return latest end
    for _, part in ipairs(bucket.parts.quotas) do
      if not part.unit and part.length then latest = math.max(latest, walk.last + (math.ceil(units / part.amount) - 1) * part.length) end
    end
    return latest
  end
end
