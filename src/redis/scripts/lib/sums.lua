-- The sums that are kept with what a quota counts, so that most verbs look at no entry of it and read no job.
-- of: usage

do
  -- With what a quota counts, its sums are kept as entries that ended before any clock began, so that code which does not know them
  -- counts none of them, and drops them with the next slot: the sum of all its entries; the fence up to which starts do not surely stand
  -- where they were counted, if there is one; when the count of a unit began, where that was not with the bucket; how many jobs ever
  -- joined the line and how many wait without a slot, by which it shows that such code has let one in or out since; how many of those
  -- name the unit, and how much; and when a turn last started.
  local SUM, MOVED, BEGUN, COUNTED, MOST = -8, -7, -6, { -5, -4, -3, -2, -1 }, 8

  local SUM_ALONE, MOVED_NEXT = struct.pack('<d', SUM), struct.pack('<d', MOVED)
  -- Most often a unit has these sums and no others: they are read at once.
  local MOST_OFTEN, FORMAT, BYTES = struct.pack('<dddddd', SUM, unpack(COUNTED)), '<dddddd', 48

  -- Behind the kinds of sums comes where entries end, which is no kind.
  local function read_each(one, middle)
    local format, found = usage.doubles(math.min(one.size, MOST)), {}
    local kinds, values = { struct.unpack(format, one.raw, one.at) }, { struct.unpack(format, one.raw, middle) }
    for kind = SUM, COUNTED[#COUNTED] do
      local place = one.skipped + 1
      if kinds[place] == kind then found[kind], one.skipped = values[place], place end
    end
    one.sum, one.moved, one.begun = found[SUM], found[MOVED], found[BEGUN]
    for _, kind in ipairs(COUNTED) do
      if not found[kind] then return end
    end
    return unpack(found, COUNTED[1], COUNTED[#COUNTED])
  end

  -- Reads which of the entries of a quota are sums, and what they say of the jobs that wait without a slot, of which there are so many.
  function usage.read_sums(one, bucket, use, jobs)
    local raw, at, middle, unit = one.raw, one.at, one.at + one.size * 8, one.part.unit
    if not unit then
      if one.size == 0 or string.sub(raw, at, at + 7) ~= SUM_ALONE then return end
      one.skipped, one.sum = 1, struct.unpack('<d', raw, middle)
      if string.sub(raw, at + 8, at + 15) == MOVED_NEXT then one.skipped, one.moved = 2, struct.unpack('<d', raw, middle + 8) end
      return
    end
    local joined, waiting, named, units, last_turn
    if one.size >= 6 and string.sub(raw, at, at + BYTES - 1) == MOST_OFTEN then
      one.skipped, one.sum, joined, waiting, named, units, last_turn = 6, struct.unpack(FORMAT, raw, middle)
    elseif one.size > 0 then joined, waiting, named, units, last_turn = read_each(one, middle) end
    use.begun[unit] = one.begun
    -- When a turn last started, which may be settled after it has ended. Where code wrote that does not know the sums, each start may be one.
    if one.size > 0 then use.lastTurn = math.max(use.lastTurn, last_turn or bucket.lastStart) end
    if jobs == 0 then use.sums[unit] = { jobs = 0, units = 0 }
    elseif last_turn and joined == bucket.joined and waiting == jobs then use.sums[unit] = { jobs = named, units = units } end
  end

  -- How many sums are written with what a quota counts.
  function usage.sums_in(bucket, part, one)
    local alone = one.moved and 2 or 1
    if not part.unit then return alone end
    return alone + (bucket.use.begun[part.unit] and 1 or 0) + #COUNTED
  end

  local function packed(value) return value and struct.pack('<d', value) or '' end

  -- What is written of sums before the entries of a quota: their kinds, where entries have when they end,
  function usage.kinds_of_sums(bucket, part, one)
    if not part.unit then return one.moved and SUM_ALONE .. MOVED_NEXT or SUM_ALONE end
    local begun, moved = bucket.use.begun[part.unit], one.moved
    if not begun and not moved then return MOST_OFTEN end
    return SUM_ALONE .. (moved and MOVED_NEXT or '') .. packed(begun and BEGUN) .. string.sub(MOST_OFTEN, 9)
  end

  -- and what they are, where entries have what they count.
  function usage.packed_sums(bucket, part, one)
    local use, unit = bucket.use, part.unit
    local total = one.sum or quota.sum(one)
    if not unit then return packed(total) .. packed(one.moved) end
    local sum, others = use.sums[unit], packed(one.moved) .. packed(use.begun[unit])
    return struct.pack('<dc0ddddd', total, others, sum and bucket.joined or -1, jobs_without_slot(bucket),
      sum and sum.jobs or 0, sum and sum.units or 0, use.lastTurn)
  end
end
