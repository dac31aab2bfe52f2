-- What a slot, a start and a loss count in the quotas of a bucket, and whether there is a place for one more attempt.

-- The named costs of a job, which stand behind its settings, as JSON; nil where it names none.
function usage.costs_text(settings)
  return string.match(settings or '', '^%S+ (.*)$')
end

-- What a job counts in each quota.
function usage.charges(parts, cost, settings)
  local costs = parts.hasUnits and usage.costs_text(settings)
  local charges, named = {}, costs and cjson.decode(costs) or {}
  for index, part in ipairs(parts.quotas) do charges[index] = part.unit and (named[part.unit] or part.each) or cost end
  return charges
end

function usage.charges_of(parts, id, cost)
  local job = parts.hasUnits and read_job(id)
  return usage.charges(parts, cost, job and job.settings)
end

function usage.room_at(parts, use, charges, from)
  local at, later = nil, from
  while later ~= at do
    at = later
    for index, part in ipairs(parts.quotas) do later = quota.room_at(part, use[index], charges[index], later) end
  end
  return at
end

function usage.charge(bucket, charges, at, sign)
  for index, part in ipairs(bucket.parts.quotas) do quota.charge(part, bucket.use[index], (sign or 1) * charges[index], at) end
  bucket.isUseChanged = bucket.isUseChanged or #bucket.parts.quotas > 0
end

-- Lets nothing count for longer than a start that is reserved now: the clock may have been set back.
function usage.clamp(bucket, now)
  local parts, use = usage.of(bucket)
  for index, part in ipairs(parts and parts.quotas or {}) do
    quota.clamp(part, use[index], now)
    bucket.isUseChanged = true
  end
end

-- The time from which the granted job may start, and when it was due: by a quota it may have been due later than by the pace.
function usage.due_at(bucket, charges, due, earliest)
  local parts, use = usage.of(bucket)
  due = usage.room_at(parts, use, charges, due)
  return usage.room_at(parts, use, charges, math.max(due, earliest)), due
end

-- A server that takes over may lack the starts of so long.
usage.LOST = 2000000

-- Whether a start counts until the same ends at either time.
function usage.is_same_time(parts, at, other)
  for _, part in ipairs(parts.quotas) do
    local first, last = quota.ends_of(part, at)
    local as_first, as_last = quota.ends_of(part, other)
    if first ~= as_first or last ~= as_last then return false end
  end
  return true
end

-- After a loss, as many starts count as the pace allows in the time that may be lost.
function usage.allow_for_loss(bucket, meta, now)
  local parts, use = usage.of(bucket)
  if not parts or use.lostAt == meta.lostAt then return end
  use.lostAt = meta.lostAt
  local starts, charges = math.ceil(usage.LOST / bucket.interval), {}
  for index, part in ipairs(parts.quotas) do charges[index] = starts * (part.each or 1) end
  usage.charge(bucket, charges, math.min(meta.lostAt, now))
end

-- Whether every place is taken, by what runs or was handed over; `taken`: by so many.
function usage.is_full(bucket, taken)
  local parts = usage.of(bucket)
  return parts ~= nil and parts.places ~= nil and taken >= parts.places
end

-- When nothing counts any more.
function usage.forgettable_at(bucket)
  local parts, use = usage.of(bucket)
  local last = -INF
  for index in ipairs(parts and parts.quotas or {}) do last = math.max(last, use[index].ends[#use[index].ends] or -INF) end
  return last
end

-- The answer where one of the amounts is of a unit that no quota counts; or nil.
function usage.unknown_unit(bucket, amounts)
  local parts, known, units = usage.of(bucket), {}, {}
  for _, part in ipairs(parts and parts.quotas or {}) do
    if part.unit and not known[part.unit] then known[part.unit], units[#units + 1] = true, part.unit end
  end
  for unit in pairs(amounts) do
    if not known[unit] then return { 'unit', unit, bucket.key, unpack(units) } end
  end
end

-- Counts the amounts instead of the estimates, for the start of the job. `state.costs`: of one whose record may be gone.
function usage.settle(bucket, state, amounts, now, lost_at)
  local parts, use = usage.of(bucket)
  local charges = parts and (state.costs and usage.charges(parts, state.cost, '-' .. state.costs) or usage.charges_of(parts, state.id, state.cost))
  for index, part in ipairs(parts and parts.quotas or {}) do
    local more = part.unit and amounts[part.unit] and amounts[part.unit] - charges[index]
    -- Before the last change, or a loss, it may have been charged less than it would be now: nothing is taken back.
    if more and state.departedAt <= math.max(use.changedAt, state.costs and lost_at or 0) then more = math.max(0, more) end
    if more then
      -- A worker whose clock is ahead reports a start that is still to come; one that is later was before the clock was set back.
      quota.charge(part, use[index], more, usage.counted_at(bucket, math.min(state.departedAt, now + quota.FARTHEST_AHEAD)))
      quota.clamp(part, use[index], now)
      bucket.isUseChanged = true
    end
  end
  state.isSettled = true
end
