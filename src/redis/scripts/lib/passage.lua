-- The way along a line under a limit with further parts, job by job: `Walk` of src/core/usage.ts.

usage.FARTHEST_STEP = 200

-- Begins a walk with what counts now. `times` and `costs`: of the jobs that departed on it.
function usage.walk_from(bucket, now)
  local parts, use = usage.of(bucket)
  local walk = { projection = projection_of(bucket, now), use = {}, times = {}, costs = {}, steps = 0 }
  for index in ipairs(parts.quotas) do
    walk.use[index] = { ends = { unpack(use[index].ends) }, used = { unpack(use[index].used) } }
    quota.drop(walk.use[index], walk.projection.slot)
  end
  walk.last = walk.projection.slot
  return walk
end

-- When a job departs behind those so far.
function usage.depart_at(walk, bucket, charges, ready_at)
  return usage.room_at(bucket.parts, walk.use, charges, math.max(walk.projection.slot, ready_at or walk.projection.slot))
end

function usage.depart(walk, bucket, cost, charges, ready_at)
  local at = usage.depart_at(walk, bucket, charges, ready_at)
  for index, part in ipairs(bucket.parts.quotas) do
    quota.charge(part, walk.use[index], charges[index], at)
    -- No job behind it departs before.
    quota.drop(walk.use[index], at)
    walk.hasOversized = walk.hasOversized or charges[index] > part.amount
  end
  advance(walk.projection, bucket, cost, at)
  walk.last, walk.steps = at, walk.steps + 1
  walk.times[walk.steps], walk.costs[walk.steps] = at, cost
end

-- A time before which no job departs that stands behind those so far and `units` more.
function usage.behind(walk, bucket, units)
  local latest = walk.projection.slot + spacing(bucket, walk.projection.warmth, units)
  if walk.hasOversized then return latest end
  for _, part in ipairs(bucket.parts.quotas) do
    if not part.unit and part.length then latest = math.max(latest, walk.last + (math.ceil(units / part.amount) - 1) * part.length) end
  end
  return latest
end
