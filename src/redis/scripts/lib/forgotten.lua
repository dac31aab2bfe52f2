-- Forgetting empty buckets.

local forget_idle, forget_past
do
  local MOST = 1000
  -- Where buckets have quotas; and so many whose limits are read.
  local MOST_WITH_QUOTAS, MOST_READ_AGAIN = 250, 50
  local MOST_BELOW_TOTALS = 100

  local function counts_until(key)
    local bucket = read_bucket(key)
    return bucket and usage.of(bucket) and usage.forgettable_at(bucket) or -INF
  end

  -- Those of the idle buckets of which no quota counts any more. One that does, since the clock was set forward, is put off. Of the
  -- others what their quotas counted is kept apart: a step of the clock that is not reported yet may bring it back.
  local function without_counting(idle, now)
    local raws, records = redis.call('HMGET', K.quotas, unpack(idle)), redis.call('HMGET', K.buckets, unpack(idle))
    local forgotten, past, ends, looked = {}, {}, {}, 0
    for index, key in ipairs(idle) do
      local raw, is_readable, last, until_ = raws[index], true, 0, -INF
      if raw and records[index] then is_readable, last = pcall(usage.last_end, raw) end
      -- A calendar's entries may end earlier than that, and only the limit says which they are.
      if not is_readable or last + forward.by() > now then
        looked = looked + 1
        if looked > MOST_READ_AGAIN then break end
        is_readable, until_ = pcall(counts_until, key)
        if not is_readable then until_, last = now + UNREADABLE, 0 end
        -- What is remembered is over before its entries end.
        if until_ > -INF then last = math.min(last, until_ - forward.by()) end
      end
      if until_ > now then redis.call('ZADD', K.idle, until_, key)
      else
        forgotten[#forgotten + 1] = key
        if last > 0 then
          past[#past + 1], ends[#ends + 1] = key, last
          past[#past + 1], ends[#ends + 1] = usage.past(records[index], raw), key
        end
      end
    end
    if #past > 0 then
      redis.call('HSET', K.past, unpack(past))
      redis.call('ZADD', K.pastends, unpack(ends))
    end
    return forgotten
  end

  -- Drops what the quotas of forgotten buckets counted, once no step of the clock can bring it back. Returns when there is more to drop.
  function forget_past(meta, now)
    if not meta.hasQuotas then return INF end
    local late = forward.by() + forward.unsure(now)
    local gone = redis.call('ZRANGEBYSCORE', K.pastends, '-inf', now - late, 'LIMIT', 0, MOST_WITH_QUOTAS)
    if #gone > 0 then
      redis.call('HDEL', K.past, unpack(gone))
      redis.call('ZREM', K.pastends, unpack(gone))
    end
    local first = redis.call('ZRANGE', K.pastends, 0, 0, 'WITHSCORES')
    return first[2] and tonumber(first[2]) + late or INF
  end

  -- Forgets empty buckets whose state no longer affects a departure: fewer in a call that hands over `handed` jobs, each of which
  -- takes as long as ten of them.
  function forget_idle(meta, now, handed)
    local most = MOST - 9 * handed
    if meta.hasQuotas then most = math.min(most, MOST_WITH_QUOTAS) end
    if meta.hasTotals then most = math.min(most, MOST_BELOW_TOTALS) end
    local idle = redis.call('ZRANGEBYSCORE', K.idle, '-inf', now, 'LIMIT', 0, most)
    if meta.hasTotals and #idle > 0 then idle = family.forget(idle, now) end
    if meta.hasQuotas and #idle > 0 then idle = without_counting(idle, now) end
    if #idle == 0 then return end
    if meta.hasTotals then family.release(idle) end
    redis.call('HDEL', K.buckets, unpack(idle))
    if meta.hasQuotas then redis.call('HDEL', K.quotas, unpack(idle)) end
    redis.call('ZREM', K.idle, unpack(idle))
    redis.pcall('ZREM', K.fill, unpack(idle))
  end
end
