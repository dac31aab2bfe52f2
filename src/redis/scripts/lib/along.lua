-- What counts in one quota along the way of a line: `RollingCount` and `PeriodCount` of src/core/walk.ts.
-- of: usage

do
  -- What counts from a time on, and the sum of that: along the way entries of a rolling quota only leave.
  function usage.count_from(use, from)
    local ends, used, first, total = use.ends, use.used, 1, 0
    while ends[first] and ends[first] <= from do first = first + 1 end
    for index = first, #ends do total = total + used[index] end
    usage.work = usage.work + 1
    return { ends = { unpack(ends, first) }, used = { unpack(used, first) }, first = 1, total = total }
  end

  -- Near the end of a period a start counts in two.
  local NEAR = 2000000

  -- When the entries of a calendar end in which a start at `at` counts; those of one period are looked up once.
  local function ends_of(count, part, at)
    local first, last = count.until_, nil
    if not first or at < count.from or at >= first - NEAR then
      first, last = quota.ends_at(part, at)
      count.from, count.until_ = at, not last and first or nil
    end
    return first, last
  end

  local function index_of(ends, end_)
    for index = #ends, 1, -1 do
      if ends[index] == end_ then return index end
    end
  end

  local function room_in_period(part, count, units, from)
    local function is_full(end_)
      local index = end_ and index_of(count.ends, end_)
      local counted = index and count.used[index] or 0
      return counted > 0 and counted + units > part.amount
    end
    local at = from
    while true do
      local first, last = ends_of(count, part, at)
      if is_full(first) then at = first
      elseif is_full(last) then at = last
      else return at end
    end
  end

  local function count_in_period(count, part, units, at)
    local first, last = ends_of(count, part, at)
    local index = not last and index_of(count.ends, first)
    if index then count.used[index] = count.used[index] + units else quota.charge(part, count, units, at) end
  end

  -- When it has room for the units, from `from` on.
  function usage.room_in(part, count, units, from)
    if not part.length then return room_in_period(part, count, units, from) end
    return quota.room_among(part, count, count.first, count.total + units, from)
  end

  -- Counts a start at `at`, before which no other comes.
  function usage.count_in(count, part, units, at)
    if not part.length then return count_in_period(count, part, units, at) end
    local ends, used = count.ends, count.used
    while ends[count.first] and ends[count.first] <= at do
      count.total, count.first = count.total - used[count.first], count.first + 1
    end
    count.total = count.total + units
    local end_, last = quota.ends_at(part, at), #ends
    if last < count.first or ends[last] < end_ then ends[last + 1], used[last + 1] = end_, units
    elseif ends[last] == end_ then used[last] = used[last] + units
    else quota.charge(part, count, units, at) end
  end
end
