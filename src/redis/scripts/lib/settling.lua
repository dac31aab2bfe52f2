-- What an attempt really counted, in place of what was estimated.
-- of: usage

-- The answer where one of the amounts is of a unit that no quota counts; or nil.
function usage.unknown_unit(bucket, amounts)
  local known, units = {}, {}
  for _, one in ipairs(usage.limited(bucket)) do
    local parts = usage.of(one)
    for _, part in ipairs(parts and parts.quotas or {}) do
      if part.unit and not known[part.unit] then known[part.unit], units[#units + 1] = true, part.unit end
    end
  end
  for unit in pairs(amounts) do
    if not known[unit] then return { 'unit', unit, bucket.key, unpack(units) } end
  end
end

-- What a start was charged, as `usage.charged` wrote it, by unit: `units`, and the `count` of the unit that they are in; nil where it
-- is not ours.
function usage.charged_in(text)
  local charged, is_ours = {}, true
  local rest = string.gsub(text, '(%S+) (%d+) (%S+) ?', function(unit, units, count)
    charged[unit] = { units = tonumber(units), count = tonumber(count) }
    is_ours = is_ours and charged[unit].units < INF and charged[unit].count ~= nil
    return ''
  end)
  return is_ours and rest == '' and charged or nil
end

-- Counts the amounts instead of what the start of the job was charged: `state.charges`, or else what its state says. `lost_at`: when that
-- may have been lost. Returns what each quota counts of it then.
function usage.settle(bucket, state, amounts, now, lost_at)
  local parts, use = usage.of(bucket)
  -- A worker whose clock is ahead reports a start that is still to come; one that is later was before the clock was set back.
  if state.departedAt > now + quota.FARTHEST_AHEAD then usage.clamp(bucket, now) end
  local charged = state.charged and usage.charged_in(state.charged)
  -- An older version counted the start: then it is known only what it would be charged now.
  local charges = parts and not charged and (state.charges or usage.charges_of(parts, state.id, state.cost))
  local is_unsure = state.departedAt <= math.max(lost_at, parts and not charged and use.changedAt or -INF)
  local after = {}
  for index, part in ipairs(parts and parts.counted or {}) do
    local unit, before = part.unit, nil
    if not charged then before = charges[index]
    elseif unit and charged[unit] and charged[unit].count == usage.count_of(bucket, unit) then before = charged[unit].units end
    local more = unit and amounts[unit] and amounts[unit] - (before or 0)
    -- It may have been charged less, or what it was charged is lost, or stands elsewhere: nothing is taken back.
    if more and (is_unsure or not usage.stands(use[index], state.fence)) then more = math.max(0, more) end
    if more then
      quota.charge(part, use[index], more, usage.counted_at(bucket, math.min(state.departedAt, now + quota.FARTHEST_AHEAD)))
      bucket.isUseChanged = true
    end
    after[index] = (before or 0) + (more or 0)
  end
  state.isSettled = true
  return after
end
