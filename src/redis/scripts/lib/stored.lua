-- How what the quotas of a bucket count is written: by a clock that is never set forward, with sums of what waits.

do
  local MAGIC, HEAD = 0x5627, '<HBdd'

  -- Periods of calendars follow the clock that is shown.
  local function forward_of(part)
    return part.length and forward.by() or 0
  end

  -- What was written, and by place of the quota the sums in it.
  function usage.read(bucket, parts)
    local raw = #parts.quotas > 0 and redis.call('HGET', K.quotas, bucket.key)
    if not raw then
      -- It is written with the first slot.
      if #parts.quotas > 0 and (bucket.granted ~= '' or bucket.lastStart > -INF) then partial('quotas') end
      return usage.new(parts, 0, 0), {}
    end
    local ok, magic, count, lost_at, changed_at, at = pcall(struct.unpack, HEAD, raw)
    if not ok or magic ~= MAGIC or count ~= #parts.quotas then foreign('quotas') end
    local use, kept = usage.new(parts, lost_at, changed_at), {}
    for index = 1, count do
      local is_whole, size, from = pcall(struct.unpack, '<I2', raw, at)
      if not is_whole or #raw + 1 < from + size * 16 then foreign('quotas') end
      local numbers, by = { struct.unpack('<' .. string.rep('d', size * 2), raw, from) }, forward_of(parts.quotas[index])
      local ends, used, first = use[index].ends, use[index].used, usage.sums_in(numbers)
      kept[index] = { unpack(numbers, size + 1, size + first) }
      for entry = 1, size - first do ends[entry], used[entry] = numbers[first + entry] + by, numbers[size + first + entry] end
      at = from + size * 16
    end
    if at ~= #raw + 1 then foreign('quotas') end
    return use, kept
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
      local format = '<' .. string.rep('d', #ends)
      packed[#packed + 1] = struct.pack('<I2', #ends + more) .. before .. struct.pack(format, unpack(ends)) .. sums
        .. struct.pack(format, unpack(one.used))
    end
    if redis.call('HSET', K.quotas, bucket.key, table.concat(packed)) == 1 then redis.call('HSET', K.meta, 'quotas', '1') end
  end
end
