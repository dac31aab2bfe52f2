-- The way along a line under a limit with further parts, job by job: `Walk` of src/core/walk.ts.
-- of: usage

do
  -- Whether a start that quotas count may still be settled, so that it counts less.
  local function may_be_settled(bucket, now)
    local parts, use = usage.of(bucket)
    if bucket.running > 0 or bucket.granted ~= '' then return true end
    local last_turn = math.min(use.lastTurn, now + quota.FARTHEST_AHEAD)
    for _, part in ipairs(last_turn > 0 and parts.quotas or {}) do
      local first, second = quota.ends_of(part, last_turn)
      if part.unit and (second or first) > now then return true end
    end
    return false
  end

  -- Begins a walk with what counts now. `times`, `costs` and `charges`: of the jobs that departed on it. `is_soonest`: the earliest way,
  -- on which what may be settled counts nothing once it has started.
  function usage.walk_from(bucket, now, is_soonest)
    local parts, use = usage.of(bucket)
    local projection = projection_of(bucket, now)
    local walk = {
      from = projection.slot, warmth = projection.warmth, together = 0, last = projection.slot, use = {}, times = {}, costs = {}, charges = {},
      steps = 0, isOpen = may_be_settled(bucket, now), isSoonest = is_soonest,
    }
    for index, part in ipairs(parts.quotas) do
      local is_gone = is_soonest and walk.isOpen and part.unit
      walk.use[index] = usage.count_from(is_gone and { ends = {}, used = {} } or use[index], projection.slot)
    end
    return walk
  end

  local function slot_of(walk, bucket)
    return walk.from + spacing(bucket, walk.warmth, walk.together)
  end

  -- When a job departs behind those so far, the slot that it has by the pace, and whether it may depart earlier: what may be settled
  -- for less holds it, or held one before it.
  function usage.depart_at(walk, bucket, charges, ready_at)
    local slot = slot_of(walk, bucket)
    local at, by_unit = usage.earliest(bucket.parts, walk.use, charges, math.max(slot, ready_at or slot), usage.room_in)
    return at, slot, walk.earlierFrom ~= nil or by_unit and (walk.isOpen or walk.steps > 0)
  end

  function usage.depart(walk, bucket, cost, charges, ready_at)
    local at, slot, may_be_earlier = usage.depart_at(walk, bucket, charges, ready_at)
    if may_be_earlier then walk.earlierFrom = walk.earlierFrom or walk.steps + 1 end
    for index, part in ipairs(bucket.parts.quotas) do
      if not (walk.isSoonest and part.unit) then usage.count_in(walk.use[index], part, charges[index], at) end
      walk.hasOversized = walk.hasOversized or charges[index] > part.amount
    end
    if at > slot then
      local work = spacing(bucket, walk.warmth, walk.together)
      local warmth = warmed_by(bucket, walk.warmth, work)
      walk.warmth = walk.isSoonest and warmth or cooled_by(warmth, at - (walk.from + work))
      walk.from, walk.together = at, 0
    end
    walk.together, walk.last, walk.steps = walk.together + cost, at, walk.steps + 1
    walk.times[walk.steps], walk.costs[walk.steps], walk.charges[walk.steps] = at, cost, charges
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
