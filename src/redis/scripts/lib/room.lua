-- When a quota has room: the `roomAt` of src/core/quota.ts.
-- of: quota

do
  -- What all entries count, or more: of a quota that has room for that, no entry need be looked at. It may have entries in it that were
  -- dropped because they have ended.
  function quota.sum(use)
    if not use.sum then
      local sum = 0
      for _, units in ipairs(use.used) do sum = sum + units end
      use.sum = sum
    end
    return use.sum
  end

  -- The same, where `total` is the units and what the entries count from the first on.
  function quota.room_among(part, use, first, total, from)
    local ends, at = use.ends, from
    for index = first, #ends do
      if ends[index] > from then
        if total <= part.amount then break end
        at = ends[index]
      end
      total = total - use.used[index]
    end
    return at
  end

  local function room_in_window(part, use, units, from)
    if units + quota.sum(use) <= part.amount then return from end
    local first, total = #use.ends + 1, units
    while first > 1 and use.ends[first - 1] > from do first, total = first - 1, total + use.used[first - 1] end
    return quota.room_among(part, use, first, total, from)
  end

  local function used_until(use, end_)
    for index = #use.ends, 1, -1 do
      if use.ends[index] == end_ then return use.used[index] end
    end
    return 0
  end

  local function room_in_period(part, use, units, from)
    local function is_full(end_)
      local counted = end_ and used_until(use, end_) or 0
      return counted > 0 and counted + units > part.amount
    end
    local at = from
    while true do
      local first, last = quota.ends_at(part, at)
      if is_full(first) then at = first
      elseif is_full(last) then at = last
      else return at end
    end
  end

  function quota.room_at(part, use, units, from)
    if part.length then return room_in_window(part, use, units, from) end
    return room_in_period(part, use, units, from)
  end
end
