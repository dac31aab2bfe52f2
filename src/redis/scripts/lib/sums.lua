-- The sums that are kept with what a quota counts, so that most verbs look at no entry of it and read no job.

local function jobs_without_slot(bucket)
  return bucket.inLine + bucket.inHanded + retrying(bucket) - (bucket.granted ~= '' and 1 or 0)
end

do
  -- With what a quota counts, its sums are kept as entries that ended before any clock began, so that code which does not know them
  -- counts none of them, and drops them with the next slot: the sum of all its entries; the fence up to which starts do not surely stand
  -- where they were counted, if there is one; when the count of a unit began, where that was not with the bucket; how many jobs ever
  -- joined the line and how many wait without a slot, by which it shows that such code has let one in or out since; how many of those
  -- name the unit, and how much; and when a turn last started.
  local SUM, MOVED, BEGUN, COUNTED = -8, -7, -6, { -5, -4, -3, -2, -1 }

  -- Reads which of the entries of a quota are sums. Returns those of what waits, or none where they are not there.
  function usage.read_sums(one)
    local middle = one.at + one.size * 8
    -- What stands under `kind` as the next of them, if it is there.
    local function take(kind)
      if one.skipped == one.size or struct.unpack('<d', one.raw, one.at + one.skipped * 8) ~= kind then return nil end
      one.skipped = one.skipped + 1
      return (struct.unpack('<d', one.raw, middle + one.skipped * 8 - 8))
    end
    one.sum, one.moved, one.begun = take(SUM), take(MOVED), take(BEGUN)
    local sums = {}
    for index, kind in ipairs(COUNTED) do sums[index] = take(kind) end
    return #sums == #COUNTED and sums or {}
  end

  -- The sums by unit, of those that are known; `kept` by place of the quota: what was written.
  function usage.known_sums(bucket, parts, kept)
    local jobs, sums = jobs_without_slot(bucket), {}
    for index, part in ipairs(parts.quotas) do
      local unit, numbers = part.unit, kept[index]
      if unit and jobs == 0 then sums[unit] = { jobs = 0, units = 0 }
      elseif unit and numbers and numbers[1] == bucket.joined and numbers[2] == jobs then
        sums[unit] = { jobs = numbers[3], units = numbers[4] }
      end
    end
    return sums
  end

  -- What is written before the entries of a quota: when they end, what they count, and how many they are.
  function usage.counted(bucket, part, one)
    local ends, values = { SUM }, { quota.sum(one) }
    local function add(kind, value) ends[#ends + 1], values[#values + 1] = kind, value end
    if part.unit then
      local sum, begun = bucket.use.sums[part.unit], bucket.use.begun[part.unit]
      if one.moved then add(MOVED, one.moved) end
      if begun then add(BEGUN, begun) end
      local counts = { sum and bucket.joined or -1, jobs_without_slot(bucket), sum and sum.jobs or 0, sum and sum.units or 0, bucket.use.lastTurn }
      for index, kind in ipairs(COUNTED) do add(kind, counts[index]) end
    end
    local format = '<' .. string.rep('d', #ends)
    return struct.pack(format, unpack(ends)), struct.pack(format, unpack(values)), #ends
  end
end
