-- What a slot, a start and a loss count in the quotas of a bucket, and whether there is a place for one more attempt.
-- of: usage

-- The earliest time from `from` on at which every quota has room, and whether one of a unit is waited for: `earliest` of
-- src/core/usage.ts. `room_of`: when one quota has room, by what counts in it.
function usage.earliest(parts, use, charges, from, room_of)
  local at, later, is_held_by_unit = nil, from, false
  while later ~= at do
    at = later
    for _, index in ipairs(parts.order) do
      local part = parts.quotas[index]
      local room = room_of(part, use[index], charges[index], later)
      if part.unit and room > later then is_held_by_unit = true end
      later = room
    end
  end
  return at, is_held_by_unit
end

-- That time, by what counts now.
function usage.room_at(parts, use, charges, from)
  return (usage.earliest(parts, use, charges, from, quota.room_at))
end

function usage.charge(bucket, charges, at, sign)
  for index, part in ipairs(bucket.parts.counted) do quota.charge(part, bucket.use[index], (sign or 1) * charges[index], at) end
  bucket.isUseChanged = bucket.isUseChanged or #bucket.parts.counted > 0
end

-- Takes that back, where what a job of that fence was charged surely stands there.
function usage.discharge(bucket, charges, at, fence)
  for index, part in ipairs(bucket.parts.counted) do
    if usage.stands(bucket.use[index], fence) then quota.charge(part, bucket.use[index], -charges[index], at) end
  end
  bucket.isUseChanged = true
end

-- What a start is charged in named units, as its state keeps it: of each its name, how much, and which count of the unit that is in.
function usage.charged(bucket, charges)
  local texts, known = {}, {}
  for index, part in ipairs(bucket.parts.counted) do
    local unit = part.unit
    if unit and not known[unit] then
      known[unit], texts[#texts + 1] = true, string.format('%s %d %.17g', unit, charges[index], usage.count_of(bucket, unit))
    end
  end
  return table.concat(texts, ' ')
end

-- The time from which the granted job may start, and when it was due: by a quota it may have been due later than by the pace.
function usage.due_at(bucket, charges, due, earliest)
  local parts, use = usage.of(bucket)
  due = usage.room_at(parts, use, charges, due)
  return usage.room_at(parts, use, charges, math.max(due, earliest)), due
end

-- Whether a start counts until the same ends at either time.
function usage.is_same_time(parts, at, other)
  for _, part in ipairs(parts.counted) do
    local first, last = quota.ends_of(part, at)
    local as_first, as_last = quota.ends_of(part, other)
    if first ~= as_first or last ~= as_last then return false end
  end
  return true
end

-- When nothing counts any more.
function usage.forgettable_at(bucket)
  local parts, use = usage.of(bucket)
  local last = -INF
  for index, part in ipairs(parts and parts.counted or {}) do
    last = math.max(last, math.min(use[index].ends[#use[index].ends] or -INF, usage.over_at(part) or INF))
  end
  return last
end
