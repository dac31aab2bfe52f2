-- How what the quotas of a bucket count is written: by a clock that is never set forward, with sums of it and of what waits. Of a bucket
-- that is forgotten, it is kept apart for a while: a step of the clock that is not reported yet may bring it back.
-- of: usage

do
  local MAGIC, HEAD = 0x5627, '<HBdd'
  -- With ten times as many, the numbers of one quota still fit the stack of Lua.
  local MOST_ENTRIES = 1000

  local function parse(raw, parts)
    local ok, magic, count, lost_at, changed_at, at = pcall(struct.unpack, HEAD, raw)
    if not ok or magic ~= MAGIC or count ~= #parts.counted then foreign('quotas') end
    local use, kept = { lostAt = lost_at, changedAt = changed_at, sums = {}, begun = {}, lastTurn = 0, whole = raw }, {}
    for index = 1, count do
      local size = at < #raw and struct.unpack('<I2', raw, at) or foreign('quotas')
      if size > MOST_ENTRIES or #raw < at + 1 + size * 16 then foreign('quotas') end
      local part = parts.counted[index]
      local one = { part = part, raw = raw, at = at + 2, size = size, skipped = 0 }
      if size > 0 then kept[index] = usage.read_sums(one) end
      if part.unit then use.begun[part.unit] = one.begun end
      use[index] = usage.packed(one)
      at = at + 2 + size * 16
    end
    if at ~= #raw + 1 then foreign('quotas') end
    return use, kept
  end

  -- What was written, and by place of the quota the sums in it.
  function usage.read(bucket, parts)
    local raw = #parts.counted > 0 and redis.call('HGET', K.quotas, bucket.key)
    if raw then return parse(raw, parts) end
    -- It is written with the first slot.
    if #parts.counted > 0 and (bucket.granted ~= '' or bucket.lastStart > -INF) then partial('quotas') end
    return usage.new(parts, 0, 0), {}
  end

  -- When a turn last started, which may be settled after it has ended; 0: none did. It is the last of the sums; where code wrote that does
  -- not know them, each start may be one.
  function usage.last_turn(bucket, parts, kept)
    local last = 0
    for index, part in ipairs(parts.counted) do
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

  -- Writes what quotas count: their buckets and texts, in turn.
  function usage.write_all(texts)
    if redis.call('HSET', K.quotas, unpack(texts)) > 0 then redis.call('HSET', K.meta, 'quotas', '1') end
  end

  -- Called where the bucket is written. `texts`: collects what `write_all` writes for many buckets.
  function usage.write(bucket, texts)
    bucket.isUseChanged = false
    if not bucket.parts or #bucket.parts.counted == 0 then return redis.call('HDEL', K.quotas, bucket.key) end
    local packed = { struct.pack(HEAD, MAGIC, #bucket.parts.counted, bucket.use.lostAt, bucket.use.changedAt) }
    usage.pack(bucket, packed)
    local n = texts and #texts or 0
    if texts then texts[n + 1], texts[n + 2] = bucket.key, table.concat(packed) else usage.write_all({ bucket.key, table.concat(packed) }) end
  end
end
