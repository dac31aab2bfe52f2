-- The entries of a quota, packed: they are unpacked when a verb asks for them.
-- of: usage

do
  -- Periods of calendars follow the clock that is shown.
  local function forward_of(part)
    return part.length and forward.by() or 0
  end

  -- Beside what it takes to look at one job: to unpack so many entries, to pack them.
  local function unpacking(entries) return 0.3 + entries / 90 end
  local function packing(entries) return 0.5 + entries / 40 end

  -- How so many numbers are packed.
  local formats = {}
  function usage.doubles(count)
    formats[count] = formats[count] or '<' .. string.rep('d', count)
    return formats[count]
  end

  local Packed = {}
  function Packed.__index(one, name)
    if name ~= 'ends' and name ~= 'used' then return nil end
    local count, by = one.size - one.skipped, forward_of(one.part)
    local ends = { struct.unpack(usage.doubles(count), one.raw, one.at + one.skipped * 8) }
    local used = { struct.unpack(usage.doubles(count), one.raw, one.at + (one.size + one.skipped) * 8) }
    ends[count + 1], used[count + 1] = nil, nil
    for entry = 1, by ~= 0 and count or 0 do ends[entry] = ends[entry] + by end
    one.ends, one.used, usage.work = ends, used, usage.work + unpacking(count)
    return one[name]
  end

  -- What a quota counts: `size` entries in `raw`, from `at` on, of which `skipped` are sums; `sum`: of the others, if known. Most verbs
  -- need no more than that, and write the rest as it was read.
  function usage.packed(one)
    return setmetatable(one, Packed)
  end

  -- The sums of so many quotas were looked at.
  function usage.note_reading(raw, quotas)
    usage.work = usage.work + 0.5 * quotas + #raw / (16 * 200)
  end

  -- Where no entry has changed: only the sums of what waits differ from what was read.
  local function with_sums(bucket, packed, whole)
    local n, from, counted = 1, bucket.use[1].at - 2, bucket.parts.counted
    for index, one in ipairs(bucket.use) do
      local part = counted[index]
      if not one.raw or one.skipped ~= usage.sums_in(bucket, part, one) then return false end
      if part.unit then
        local sums, middle = usage.packed_sums(bucket, part, one), one.at + one.size * 8
        packed[n + 1], packed[n + 2] = string.sub(whole, from, middle - 1), sums
        n, from = n + 2, middle + #sums
      end
    end
    packed[n + 1] = string.sub(whole, from)
    usage.note_reading(whole, #counted)
    return true
  end

  local function ends_of(one, part)
    local by, ends = forward_of(part), one.ends
    if by == 0 then return ends end
    local before = {}
    for entry, end_ in ipairs(ends) do before[entry] = end_ - by end
    return before
  end

  -- The quotas are packed when the call ends, and it has to leave the time for that.
  function usage.expect_packing(bucket)
    for _, one in ipairs(bucket.use or {}) do
      local used = rawget(one, 'used')
      usage.work = usage.work + packing(used and #used or one.size or 0)
    end
  end

  -- Adds what is written of the quotas, behind the first text.
  function usage.pack(bucket, packed)
    if bucket.use.whole and with_sums(bucket, packed, bucket.use.whole) then return end
    local n = 1
    for index, one in ipairs(bucket.use) do
      local part = bucket.parts.counted[index]
      local before, counted = usage.kinds_of_sums(bucket, part, one), usage.packed_sums(bucket, part, one)
      local size = #one.used
      packed[n + 1], packed[n + 2] = struct.pack('<I2', size + #counted / 8), before
      packed[n + 3] = size > 0 and struct.pack(usage.doubles(size), unpack(ends_of(one, part))) or ''
      packed[n + 4], packed[n + 5] = counted, size > 0 and struct.pack(usage.doubles(size), unpack(one.used)) or ''
      n, usage.work = n + 5, usage.work + packing(size)
    end
    for index = n + 1, #packed do packed[index] = nil end
  end
end
