-- The further parts of a bucket's limit, beside its pace, and what its quotas count: src/core/usage.ts. A limit has them as JSON
-- behind a line break; without them nothing here reads or writes.

-- One local variable for the scripts, which have few left.
local usage = {}
do
  local MAGIC, HEAD = 0x5627, '<HBdd'
  -- How far a calendar looks back, about.
  local LENGTHS = { hour = 3600000000, day = 86400000000, week = 604800000000 }
  local function read_parts(limit)
    local at = string.find(limit, '\n', 1, true)
    if not at then return nil end
    local parts = cjson.decode(string.sub(limit, at + 1))
    for _, part in ipairs(parts.quotas) do parts.hasUnits = parts.hasUnits or part.unit ~= nil end
    quota.expect_zones(limit)
    return parts
  end

  local function new_use(parts, lost_at, changed_at)
    local use = { lostAt = lost_at, changedAt = changed_at }
    for index = 1, #parts.quotas do use[index] = { ends = {}, used = {} } end
    return use
  end

  -- Periods of calendars follow the clock that is shown.
  local function forward_of(part)
    return part.length and forward.by() or 0
  end

  local function read(bucket, parts)
    local raw = #parts.quotas > 0 and redis.call('HGET', K.quotas, bucket.key)
    if not raw then
      -- It is written with the first slot.
      if #parts.quotas > 0 and (bucket.granted ~= '' or bucket.lastStart > -INF) then partial('quotas') end
      return new_use(parts, 0, 0)
    end
    local ok, magic, count, lost_at, changed_at, at = pcall(struct.unpack, HEAD, raw)
    if not ok or magic ~= MAGIC or count ~= #parts.quotas then foreign('quotas') end
    local use = new_use(parts, lost_at, changed_at)
    for index = 1, count do
      local is_whole, size, from = pcall(struct.unpack, '<I2', raw, at)
      if not is_whole or #raw + 1 < from + size * 16 then foreign('quotas') end
      local numbers, by = { struct.unpack('<' .. string.rep('d', size * 2), raw, from) }, forward_of(parts.quotas[index])
      for entry = 1, size do use[index].ends[entry], use[index].used[entry] = numbers[entry] + by, numbers[size + entry] end
      at = from + size * 16
    end
    if at ~= #raw + 1 then foreign('quotas') end
    return use
  end

  -- The parts, and what counts in each quota; nil where the limit has none.
  function usage.of(bucket)
    if bucket.partsOf ~= bucket.limit then bucket.partsOf, bucket.parts = bucket.limit, read_parts(bucket.limit) end
    if bucket.parts and not bucket.use then bucket.use = read(bucket, bucket.parts) end
    return bucket.parts, bucket.use
  end

  -- The limit as it is shown.
  function usage.limit_text(bucket)
    return string.match(bucket.limit, '^[^\n]*')
  end

  -- Called where the bucket is written.
  function usage.write(bucket)
    if not bucket.isUseChanged then return end
    bucket.isUseChanged = false
    if not bucket.parts or #bucket.parts.quotas == 0 then return redis.call('HDEL', K.quotas, bucket.key) end
    local packed = { struct.pack(HEAD, MAGIC, #bucket.parts.quotas, bucket.use.lostAt, bucket.use.changedAt) }
    for index, one in ipairs(bucket.use) do
      local ends, by = {}, forward_of(bucket.parts.quotas[index])
      for entry, end_ in ipairs(one.ends) do ends[entry] = end_ - by end
      packed[index * 3 - 1] = struct.pack('<I2', #ends)
      packed[index * 3] = #ends > 0 and struct.pack('<' .. string.rep('d', #ends), unpack(ends)) or ''
      packed[index * 3 + 1] = #one.ends > 0 and struct.pack('<' .. string.rep('d', #one.used), unpack(one.used)) or ''
    end
    if redis.call('HSET', K.quotas, bucket.key, table.concat(packed)) == 1 then redis.call('HSET', K.meta, 'quotas', '1') end
  end

  local function is_same_window(a, b)
    return a.length == b.length and a.period == b.period and a.zone == b.zone
  end

  -- Of the quotas of the same unit, the one with the same window, or else the one that looks back farthest.
  local function source_of(before, part)
    local source, longest
    for index, known in ipairs(before.quotas) do
      if known.unit == part.unit then
        if is_same_window(known, part) then return index end
        local length = known.length or LENGTHS[known.period]
        if not longest or length > longest then source, longest = index, length end
      end
    end
    return source
  end

  -- The usage under a limit that changed at `now`.
  local function changed_use(before, use, after, now)
    local changed = new_use(after, use.lostAt, use.changedAt)
    for index, part in ipairs(after.quotas) do
      local source = source_of(before, part)
      -- What ran before was charged something else.
      if not source or before.quotas[source].each ~= part.each then changed.changedAt = now end
      if source and is_same_window(before.quotas[source], part) then changed[index] = use[source]
      elseif source then changed[index] = quota.carry_over(before.quotas[source], use[source], part, now) end
    end
    return changed
  end

  -- Changes the bucket's limit. A slot that it has granted counts under the new one.
  function usage.change_limit(bucket, limit, now)
    local before, use = usage.of(bucket)
    if before and bucket.granted ~= '' then usage.charge_slot(bucket, -1) end
    bucket.limit, bucket.parts, bucket.partsOf = limit, read_parts(limit), limit
    if not before and not bucket.parts then return end
    local none = { quotas = {} }
    bucket.use = changed_use(before or none, use or new_use(none, 0, 0), bucket.parts or none, now)
    bucket.isUseChanged = #(before or none).quotas > 0 or #(bucket.parts or none).quotas > 0
    if bucket.parts and bucket.granted ~= '' then usage.charge_slot(bucket, 1) end
  end
end
