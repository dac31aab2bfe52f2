-- What a loss counts in the quotas of a bucket: the starts of the last moments may be lost, and what was charged for them.
-- of: usage

do
  -- A server that takes over may lack the starts of so long.
  local LOST = 2000000
  -- A slot may be lost, too, that was granted just before: its worker may use it for so long.
  local USABLE = 2 * quota.FARTHEST_AHEAD
  -- No step of the clock that is not reported yet brings back what ended so long ago.
  local LONGEST = 3600000000
  local MOST = 'most '
  local last
  local most = {}

  -- The last loss: when it was noticed, 0: there was none; and what the costliest job cost of which the shard knew then.
  local function last_loss()
    if known_meta then return known_meta end
    if last then return last end
    local at, cost = unpack(redis.call('HMGET', K.meta, 'lostAt', 'lostCost'))
    last = { lostAt = counter(at), lostCost = counter(cost) }
    return last
  end

  local function most_of(unit)
    most[unit] = most[unit] or tonumber(redis.call('HGET', K.meta, MOST .. unit) or 0) or 0
    return most[unit]
  end

  -- A job was admitted: the most that one counts in a unit is remembered, as the cost of the costliest is.
  function usage.remember_most(bucket, settings)
    local parts = usage.of(bucket)
    if not parts or not parts.hasUnits then return end
    local named = usage.named(settings)
    if next(named) == nil then return end
    for _, part in ipairs(parts.counted) do
      local units = named[part.unit]
      if units and units > most_of(part.unit) then
        most[part.unit] = units
        redis.call('HSET', K.meta, MOST .. part.unit, units)
      end
    end
  end

  -- What may have started and is lost counts in a quota so much at most. By the pace, all but the last of it took no longer than it may
  -- have: so that may have been any number of jobs, but the last has a cost of its own.
  local function charge_of_lost(bucket, part)
    local before = math.floor((LOST + USABLE + bucket.tolerance) / bucket.interval)
    if part.unit then return math.min(part.amount, (before + 1) * math.max(part.each, most_of(part.unit))) end
    return math.min(part.amount, before + math.min(bucket.capacity, math.max(1, last_loss().lostCost)))
  end

  -- Counts what the last loss may have taken, once for each bucket: as if it began at the last moment at which it can.
  function usage.allow_for_loss(bucket)
    local parts, use, lost = bucket.parts, bucket.use, last_loss()
    if #parts.counted == 0 or lost.lostAt == 0 or use.lostAt == lost.lostAt then return end
    use.lostAt = lost.lostAt
    local long_ago = (time_read or 0) - LONGEST
    for index, part in ipairs(parts.counted) do
      local first, second = quota.ends_of(part, lost.lostAt + USABLE)
      -- A bucket that is new long after needs no record of it.
      if (second or first) > long_ago then
        quota.charge(part, use[index], charge_of_lost(bucket, part), lost.lostAt + USABLE)
        bucket.isUseChanged = true
      end
    end
  end

  -- The latest time at which a start counts that is reserved now, or is lost.
  function usage.latest(now)
    return math.max(now, math.min(last_loss().lostAt, now) + USABLE)
  end
end
