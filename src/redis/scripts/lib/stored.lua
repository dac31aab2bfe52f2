-- How what the quotas of a bucket count is written: by a clock that is never set forward, with sums of it and of what waits. Of a bucket
-- that is forgotten, it is kept apart for a while: a step of the clock that is not reported yet may bring it back.
-- of: usage

do
  local MAGIC, HEAD = 0x5627, '<HBdd'
  -- With ten times as many, the numbers of one quota still fit the stack of Lua.
  local MOST_ENTRIES = 1000
  local has_past

  local function parse(raw, bucket)
    local counted, jobs = bucket.parts.counted, jobs_without_slot(bucket)
    local ok, magic, count, lost_at, changed_at, at = pcall(struct.unpack, HEAD, raw)
    if not ok or magic ~= MAGIC or count ~= #counted then foreign('quotas') end
    local use = { lostAt = lost_at, changedAt = changed_at, sums = {}, begun = {}, lastTurn = 0, whole = raw }
    for index = 1, count do
      local size = at < #raw and struct.unpack('<I2', raw, at) or foreign('quotas')
      if size > MOST_ENTRIES or #raw < at + 1 + size * 16 then foreign('quotas') end
      local one = usage.packed({ part = counted[index], raw = raw, at = at + 2, size = size, skipped = 0 })
      usage.read_sums(one, bucket, use, jobs)
      use[index], at = one, at + 2 + size * 16
    end
    if at ~= #raw + 1 then foreign('quotas') end
    usage.note_reading(raw, count)
    return use
  end

  -- What was written, or nothing.
  function usage.read(bucket, parts)
    local raw = #parts.counted > 0 and redis.call('HGET', K.quotas, bucket.key)
    if raw then return parse(raw, bucket) end
    -- It is written with the first slot.
    if #parts.counted > 0 and (bucket.granted ~= '' or bucket.lastStart > -INF) then partial('quotas') end
    local use, jobs = usage.new(parts, 0, 0), jobs_without_slot(bucket)
    for _, part in ipairs(jobs == 0 and parts.counted or {}) do
      if part.unit then use.sums[part.unit] = { jobs = 0, units = 0 } end
    end
    return use
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
    if not parts or #parts.quotas == 0 then return nil end
    -- Most often there is none of any bucket.
    if has_past == nil then has_past = redis.call('EXISTS', K.past) == 1 end
    local past = has_past and redis.call('HGET', K.past, bucket.key)
    if not past then return nil end
    local ok, size, from = pcall(struct.unpack, '<I4', past)
    if not ok or from + size > #past then foreign('past') end
    return string.sub(past, from, from + size - 1), string.sub(past, from + size)
  end

  -- The bucket is new, and what quotas counted when it was forgotten a moment ago, under another limit perhaps, may count yet.
  function usage.recall(bucket, limit, raw, now)
    local rule_limit = bucket.limit
    bucket.limit = limit
    bucket.parts, bucket.partsOf = usage.parts_of(limit), limit
    bucket.use = parse(raw, bucket)
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
