-- What the quotas of a meter count, packed behind its level: a head, the windows as text, and of each quota how many entries it has,
-- when they end, and how much each of them counts. See src/meter/stored-counts.ts.

local counts = {}
do
  -- A start counts a second and a bit on both sides of a boundary, and may be reserved a quarter of a second ahead: see quota.lua.
  local SURE = 1251000

  -- `part.bounds`: when the period of now and the next ones end, computed by the caller, who knows calendars.
  function quota.end_of(part, at)
    for _, bound in ipairs(part.bounds) do
      if bound > at then return bound end
    end
    return INF
  end

  -- Forgets what counts no more.
  function counts.forget(use, now)
    while use.ends[1] and use.ends[1] <= now do
      table.remove(use.ends, 1)
      table.remove(use.used, 1)
    end
  end

  -- Whether the bounds are those of `now`.
  function counts.is_known(part, now)
    return part.length or (part.bounds[1] <= now - 1000000 and now + SURE < part.bounds[3])
  end

  -- The text behind the head of what is packed, and where the numbers begin.
  local function windows_of(packed)
    local size = #packed >= 4 and struct.unpack('<H', packed, 3) or foreign('counts')
    if #packed < 4 + size then foreign('counts') end
    return string.sub(packed, 5, 4 + size), 5 + size
  end

  -- What each of so many quotas counts; nil where it was counted for other windows.
  function counts.unpack(packed, windows, size)
    local uses = {}
    for index = 1, size do uses[index] = { ends = {}, used = {} } end
    if packed == '' then return uses end
    local text, at = windows_of(packed)
    if text ~= windows then return nil end
    for index = 1, size do
      if at + 1 > #packed then foreign('counts') end
      local entries, from = struct.unpack('<H', packed, at)
      if #packed + 1 < from + entries * 16 then foreign('counts') end
      local numbers = { struct.unpack('<' .. string.rep('d', entries * 2), packed, from) }
      for entry = 1, entries do
        local end_, used = numbers[entry], numbers[entries + entry]
        if not is_finite(end_) or not is_finite(used) then foreign('counts') end
        uses[index].ends[entry], uses[index].used[entry] = end_, used
      end
      at = from + entries * 16
    end
    if at ~= #packed + 1 then foreign('counts') end
    return uses
  end

  -- Returns the text, which is empty where nothing counts, and when nothing counts any more.
  function counts.pack(windows, uses)
    local packed, last = { COUNTS_HEAD, struct.pack('<H', #windows), windows }, -INF
    for _, use in ipairs(uses) do
      local entries = #use.ends
      packed[#packed + 1] = struct.pack('<H', entries)
      if entries > 0 then
        packed[#packed + 1] = struct.pack('<' .. string.rep('d', entries), unpack(use.ends))
        packed[#packed + 1] = struct.pack('<' .. string.rep('d', entries), unpack(use.used))
        last = math.max(last, use.ends[entries])
      end
    end
    return last > -INF and table.concat(packed) or '', last
  end
end
