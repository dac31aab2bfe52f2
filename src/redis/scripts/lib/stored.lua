-- How what the quotas of a bucket count is written: by a clock that is never set forward, with sums of what waits, and before them,
-- as they are, when the count of a unit began, where that was not with the bucket. Of a bucket that is forgotten, it is kept apart for a while: a step of the clock that is not reported yet may bring it back.

do
  local MAGIC, HEAD = 0x5627, '<HBdd'
  local BEGUN = -6

  -- Periods of calendars follow the clock that is shown.
  local function forward_of(part)
    return part.length and forward.by() or 0
  end

  local function parse(raw, parts)
    local ok, magic, count, lost_at, changed_at, at = pcall(struct.unpack, HEAD, raw)
    if not ok or magic ~= MAGIC or count ~= #parts.quotas then foreign('quotas') end
    local use, kept = usage.new(parts, lost_at, changed_at), {}
    for index = 1, count do
      local is_whole, size, from = pcall(struct.unpack, '<I2', raw, at)
      if not is_whole or #raw + 1 < from + size * 16 then foreign('quotas') end
      local numbers, by = { struct.unpack('<' .. string.rep('d', size * 2), raw, from) }, forward_of(parts.quotas[index])
      local ends, used, begun = use[index].ends, use[index].used, size > 0 and numbers[1] == BEGUN and 1 or 0
      if begun == 1 and parts.quotas[index].unit then use.begun[parts.quotas[index].unit] = numbers[size + 1] end
      local first = begun + usage.sums_in(numbers, begun + 1)
      kept[index] = { unpack(numbers, size + 1 + begun, size + first) }
      for entry = 1, size - first do ends[entry], used[entry] = numbers[first + entry] + by, numbers[size + first + entry] end
      at = from + size * 16
    end
    if at ~= #raw + 1 then foreign('quotas') end
    return use, kept
  end

  -- What was written, and by place of the quota the sums in it.
  function usage.read(bucket, parts)
    local raw = #parts.quotas > 0 and redis.call('HGET', K.quotas, bucket.key)
    if raw then return parse(raw, parts) end
    -- It is written with the first slot.
    if #parts.quotas > 0 and (bucket.granted ~= '' or bucket.lastStart > -INF) then partial('quotas') end
    return usage.new(parts, 0, 0), {}
  end

  -- When a turn last started, which may be settled after it has ended; 0: none did. It is the last of the sums; where code wrote that does
  -- not know them, each start may be one.
  function usage.last_turn(bucket, parts, kept)
    local last = 0
    for index, part in ipairs(parts.quotas) do
      if part.unit and kept[index] then last = math.max(last, kept[index][#kept[index]] or bucket.lastStart) end
    end
    return last
  end

  -- When the last entry ends of what was written, by the clock by which that is.
  function usage.last_end(raw)
    local _, count, _, _, at = struct.unpack(HEAD, raw)
    local last = -INF
    for _ = 1, count do
      local size, from = struct.unpack('<I2', raw, at)
      if size > 0 then last = math.max(last, struct.unpack('<d', raw, from + size * 8 - 8)) end
      at = from + size * 16
    end
    return last
  end

  -- As it is kept of a bucket that is forgotten, with the bucket's record.
  function usage.past(record, raw)
    return struct.pack('<I4', #record) .. record .. raw
  end

  -- The record that was kept, and what was written with it; nil where there is none, or the limit has no quotas.
  function usage.past_of(bucket)
    local parts = usage.of(bucket)
    local past = parts and #parts.quotas > 0 and redis.call('HGET', K.past, bucket.key)
    if not past then return nil end
    local ok, size, from = pcall(struct.unpack, '<I4', past)
    if not ok or from + size > #past then foreign('past') end
    return string.sub(past, from, from + size - 1), string.sub(past, from + size)
  end

  -- The bucket is new, and what quotas counted when it was forgotten a moment ago, under another limit perhaps, may count yet.
  function usage.recall(bucket, limit, raw, now)
    local rule_limit = bucket.limit
    bucket.limit = limit
    local use, kept = parse(raw, usage.of(bucket))
    bucket.use, use.sums, use.lastTurn = use, usage.known_sums(bucket, bucket.parts, {}), usage.last_turn(bucket, bucket.parts, kept)
    usage.change_limit(bucket, rule_limit, now)
    usage.clamp(bucket, now)
  end

  -- Called where the bucket is written.
  function usage.write(bucket)
    if not bucket.isUseChanged then return end
    bucket.isUseChanged = false
    if not bucket.parts or #bucket.parts.quotas == 0 then return redis.call('HDEL', K.quotas, bucket.key) end
    local packed = { struct.pack(HEAD, MAGIC, #bucket.parts.quotas, bucket.use.lostAt, bucket.use.changedAt) }
    for index, one in ipairs(bucket.use) do
      local part, ends = bucket.parts.quotas[index], {}
      local by = forward_of(part)
      for entry, end_ in ipairs(one.ends) do ends[entry] = end_ - by end
      local before, sums, more = usage.counted(bucket, part)
      local begun = part.unit and bucket.use.begun[part.unit]
      if begun then before, sums, more = struct.pack('<d', BEGUN) .. before, struct.pack('<d', begun) .. sums, more + 1 end
      local format = '<' .. string.rep('d', #ends)
      packed[#packed + 1] = struct.pack('<I2', #ends + more) .. before .. struct.pack(format, unpack(ends)) .. sums
        .. struct.pack(format, unpack(one.used))
    end
    if redis.call('HSET', K.quotas, bucket.key, table.concat(packed)) == 1 then redis.call('HSET', K.meta, 'quotas', '1') end
  end
end
