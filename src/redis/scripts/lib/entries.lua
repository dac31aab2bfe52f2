-- The jobs of a bucket's line, one after the other: { id, cost, kind, readyAt of a retry }. Reads only as many as are asked for.
-- of: entries

do
  -- First this few, which is enough for most verdicts; then more at a time.
  local FEW, MANY = 8, 100

  -- Returns a function that returns the entries of a list one by one; `read(from, to)` returns those of a range.
  local function one_by_one(read)
    local some, at, from, size = {}, 0, 0, 0
    return function()
      if at == #some and at == size then
        from, size, at = from + size, size == 0 and FEW or MANY, 0
        some = read(from, from + size - 1)
      end
      at = at + 1
      return some[at]
    end
  end

  local function none() end

  local function entry_of(member, kind)
    local id, cost = parse_member(member)
    return { id = id, cost = cost, kind = kind }
  end

  local function entries_of(key, kind)
    return one_by_one(function(from, to)
      local some = {}
      for index, member in ipairs(redis.call('LRANGE', key, from, to)) do some[index] = entry_of(member, kind) end
      return some
    end)
  end

  local function line_of(bucket)
    local next_one, seen = entries_of(block_key(bucket, bucket.front), 'line'), 0
    return function()
      while next_one do
        local entry = next_one()
        if entry then return entry end
        local block = redis.call('ZRANGE', K.blocks .. bucket.suffix, seen, seen)[1]
        next_one, seen = block and entries_of(block_key(bucket, tonumber(block)), 'line'), seen + 1
      end
    end
  end

  function entries.returned(bucket, kind)
    local key = K[kind] .. bucket.suffix
    return one_by_one(function(from, to)
      local flat, some = redis.call('ZRANGE', key, from, to, 'WITHSCORES'), {}
      for index = 1, #flat, 2 do
        local entry = entry_of(flat[index], kind)
        if kind == 'retry' then entry.readyAt = tonumber(flat[index + 1]) - set_back() end
        some[#some + 1] = entry
      end
      return some
    end)
  end

  -- Returns a function that returns the jobs without a slot one by one, in the order of departure as far as it is known.
  function entries.departures(bucket, now)
    local projection, is_lines_turn = projection_of(bucket, now), bucket.linesTurn == 1
    local handed = bucket.inHanded > 0 and entries_of(K.handed .. bucket.suffix, 'handed') or none
    local back = bucket.inBack > 0 and entries.returned(bucket, 'back') or none
    local line = bucket.inLine > 0 and line_of(bucket) or none
    local retries = bucket.inRetry > 0 and entries.returned(bucket, 'retry') or none
    local retry, passed_by = nil, nil
    return function()
      if handed then
        local entry = handed()
        if entry and entry.id == bucket.granted then entry = handed() end
        if entry then return entry end
        handed, retry = nil, retries()
        advance(projection, bucket, bucket.handed)
      end
      local entry = back()
      if entry then
        advance(projection, bucket, entry.cost)
        return entry
      end
      entry, passed_by = passed_by or line(), nil
      if entry and retry and not is_lines_turn and retry.readyAt <= projection.slot then
        passed_by, entry, retry, is_lines_turn = entry, retry, retries(), true
      elseif entry then
        is_lines_turn = false
      else
        entry, retry = retry, retry and retries()
        return entry
      end
      advance(projection, bucket, entry.cost)
      return entry
    end
  end

  -- The first of them, at most `most`.
  function entries.first(bucket, now, most)
    local order, next_one = {}, entries.departures(bucket, now)
    while #order < most do
      local entry = next_one()
      if not entry then break end
      order[#order + 1] = entry
    end
    return order
  end
end
