-- The sums that are kept with what a quota counts, so that most verbs look at no entry of it and read no job.
-- of: usage

do
  -- With what a quota counts, its sums are kept as entries that ended before any clock began, so that code which does not know them
  -- counts none of them, and drops them with the next slot: the sum of all its entries; the fence up to which starts do not surely stand
  -- where they were counted, if there is one; when the count of a unit began, where that was not with the bucket; how many jobs ever
  -- joined the line and how many wait without a slot, by which it shows that such code has let one in or out since; how many of those
  -- name the unit, and how much; and when a turn last started.
  local SUM, MOVED, BEGUN, COUNTED, MOST = -8, -7, -6, { -5, -4, -3, -2, -1 }, 8

  -- Reads which of the entries of a quota are sums. Returns those of what waits, or none where they are not there.
  function usage.read_sums(one)
    if not one.part.unit then
      if struct.unpack('<d', one.raw, one.at) == SUM then one.skipped, one.sum = 1, struct.unpack('<d', one.raw, one.at + one.size * 8) end
      return {}
    end
    local format, found = usage.doubles(math.min(one.size, MOST)), {}
    -- Behind them comes where they end, which is no kind.
    local kinds = { struct.unpack(format, one.raw, one.at) }
    local values = { struct.unpack(format, one.raw, one.at + one.size * 8) }
    for kind = SUM, COUNTED[#COUNTED] do
      local place = one.skipped + 1
      if kinds[place] == kind then found[kind], one.skipped = values[place], place end
    end
    one.sum, one.moved, one.begun = found[SUM], found[MOVED], found[BEGUN]
    local sums = {}
    for index, kind in ipairs(COUNTED) do sums[index] = found[kind] end
    return #sums == #COUNTED and sums or {}
  end

  -- The sums by unit, of those that are known; `kept` by place of the quota: what was written.
  function usage.known_sums(bucket, parts, kept)
    local jobs, sums = jobs_without_slot(bucket), {}
    for index, part in ipairs(parts.counted) do
      local unit, numbers = part.unit, kept[index]
      if unit and jobs == 0 then sums[unit] = { jobs = 0, units = 0 }
      elseif unit and numbers and numbers[1] == bucket.joined and numbers[2] == jobs then
        sums[unit] = { jobs = numbers[3], units = numbers[4] }
      end
    end
    return sums
  end

  -- How many sums are written with what a quota counts.
  function usage.sums_in(bucket, part, one)
    if not part.unit then return 1 end
    return 1 + (one.moved and 1 or 0) + (bucket.use.begun[part.unit] and 1 or 0) + #COUNTED
  end

  local function packed(value) return value and struct.pack('<d', value) or '' end

  -- What is written before the entries of a quota: when they end, and what they count.
  function usage.counted(bucket, part, one)
    local unit = part.unit
    if not unit then return packed(SUM), packed(quota.sum(one)) end
    local use = bucket.use
    local sum, begun, moved = use.sums[unit], use.begun[unit], one.moved
    local ends = packed(SUM) .. packed(moved and MOVED) .. packed(begun and BEGUN) .. struct.pack(usage.doubles(#COUNTED), unpack(COUNTED))
    return ends, packed(quota.sum(one)) .. packed(moved) .. packed(begun) .. struct.pack(usage.doubles(#COUNTED),
      sum and bucket.joined or -1, jobs_without_slot(bucket), sum and sum.jobs or 0, sum and sum.units or 0, use.lastTurn)
  end
end
