-- What counts in one quota: src/core/quota.ts, operation by operation, so that both give the same.
-- of: quota

do
  local SUB_WINDOWS, BOUNDARY = quota.SUB_WINDOWS, quota.BOUNDARY

  -- When the entries end in which a start at `at` counts: one, or two near the boundary of a period.
  function quota.ends_at(part, at)
    local length = part.length
    if length then
      -- The parts are those of a clock that is never set forward.
      local size, by = math.ceil(length / SUB_WINDOWS), forward.by()
      return (math.floor((at - by) / size) + 1) * size + length + by
    end
    local first, last = quota.end_of(part, at - BOUNDARY) + BOUNDARY, quota.end_of(part, at + BOUNDARY) + BOUNDARY
    if first ~= last then return first, last end
    return first
  end

  local function add(use, end_, units)
    local ends, used = use.ends, use.used
    -- As it was read, it is of no use any more.
    use.raw, use.sum = nil, nil
    local index = #ends
    while index > 0 and ends[index] > end_ do index = index - 1 end
    if index > 0 and ends[index] == end_ then
      local sum = used[index] + units
      if sum > 0 then used[index] = sum
      else
        table.remove(ends, index)
        table.remove(used, index)
      end
    elseif units > 0 then
      table.insert(ends, index + 1, end_)
      table.insert(used, index + 1, units)
    end
  end

  -- The same for a start at `at` by the clock of then.
  function quota.ends_of(part, at)
    return quota.ends_at(part, part.length and forward.present(at) or at)
  end

  function quota.charge(part, use, units, at)
    local first, last = quota.ends_of(part, at)
    add(use, first, units)
    if last then add(use, last, units) end
  end

  -- Lets nothing count for longer than a start that is reserved now. Returns whether something would have.
  function quota.clamp(part, use, now)
    local ends, used = use.ends, use.used
    if #ends == 0 then return false end
    local first, second = quota.ends_at(part, now + quota.FARTHEST_AHEAD)
    local last, excess = second or first, 0
    while #ends > 0 and ends[#ends] > last do
      excess = excess + table.remove(used)
      table.remove(ends)
    end
    if excess > 0 then add(use, last, excess) end
    return excess > 0
  end

  function quota.carry_over(before, use, after, now)
    local carried = { ends = {}, used = {} }
    for index, end_ in ipairs(use.ends) do
      if end_ > now then
        local latest = end_ - (before.length or BOUNDARY)
        local first, last = quota.ends_at(after, math.min(latest, now + quota.FARTHEST_AHEAD))
        add(carried, first, use.used[index])
        if last then add(carried, last, use.used[index]) end
      end
    end
    return carried
  end
end
