-- What an attempt really counted, in place of what was estimated.

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
