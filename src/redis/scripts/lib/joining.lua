-- Those below a total whose own limits let them go join those that share it: from `later` to `ready`, by tag.
-- of: family

do
  local IN = 1
  -- Those that become due together join in slices of so many in a call.
  local MOST_WOKEN, woken = 100, 0

  local function joins(total, name, child, bucket)
    if child.standing ~= IN then
      family.isWaking = true
      if bucket then
        family.stand_bucket(bucket, due_of(bucket))
        write_bucket(bucket)
      else
        family.settle(child)
        family.touch(child)
      end
      family.isWaking = nil
    end
    total.moves[name] = nil
    return family.tag_of_ready(total, child.tag)
  end

  -- Lets those join whose own limits let them go by then. Returns whether there are more of them than one call takes, and
  -- whether some have joined.
  function family.wake(total, horizon)
    if family.later_from(total) > horizon then return false, false end
    local names = redis.call('ZRANGEBYSCORE', K.later .. total.n, '-inf', horizon, 'LIMIT', 0, MOST_WOKEN - woken)
    if #names == 0 then return woken == MOST_WOKEN and redis.call('ZCOUNT', K.later .. total.n, '-inf', horizon) > 0, false end
    local raws, ready, callers = redis.call('HMGET', K.buckets, unpack(names)), {}, {}
    -- Kept: the first of them are handed over soon.
    family.raws = family.raws or {}
    for index, name in ipairs(names) do
      local raw, is_readable, bucket, child = raws[index], true, nil, nil
      -- Where no turn waits, the tag of a child that takes part already is all that is needed of it. Of one that this call has changed the
      -- record is not written yet.
      local is_known = family.buckets and family.buckets[name]
      local tag = raw and not is_known and total.turns == 0 and family.tag_of(raw)
      if tag then
        total.moves[name], family.raws[name] = nil, raw
        ready[#ready + 1], ready[#ready + 2] = family.tag_of_ready(total, tag), name
      elseif is_total(name) then child, is_readable = family.total_below(total, name)
      else
        bucket = family.bucket(name, raw)
        child, is_readable = bucket and bucket.member, bucket or not raw
      end
      if not is_readable then
        -- Its record is not ours: it stays, and is looked at again.
        family.skip(total, name)
      elseif child then
        tag = joins(total, name, child, bucket)
        ready[#ready + 1], ready[#ready + 2] = tag, name
        local has_turn = child.isTotal and child.turns > 0 or bucket and bucket.turns > 0 and is_turn(peek_head(bucket, horizon) or '')
        if has_turn then callers[#callers + 1], callers[#callers + 2] = tag, name end
      end
    end
    woken = woken + #names
    redis.call('ZREM', K.later .. total.n, unpack(names))
    family.forget_places(total)
    if #ready > 0 then redis.call('ZADD', K.ready .. total.n, unpack(ready)) end
    if #callers > 0 then redis.pcall('ZADD', K.callers .. total.n, unpack(callers)) end
    return woken == MOST_WOKEN and redis.call('ZCOUNT', K.later .. total.n, '-inf', horizon) > 0, true
  end
end
