-- What the further parts of a limit are, as they stand behind it.
-- of: usage

do
  -- By limit, those of this call.
  local known = {}

  local function is_amount(value)
    return type(value) == 'number' and value >= 1 and value < INF
  end

  local function is_part(part)
    if type(part) ~= 'table' or not is_amount(part.amount) then return false end
    if part.unit ~= nil and not (type(part.unit) == 'string' and is_amount(part.each)) then return false end
    if part.over ~= nil and type(part.over) ~= 'number' then return false end
    return is_amount(part.length) or quota.LENGTHS[part.period] ~= nil and type(part.zone) == 'string'
  end

  -- The parts; false where they are not ours.
  local function parse(limit)
    local ok, parts = pcall(cjson.decode, string.sub(limit, string.find(limit, '\n', 1, true) + 1))
    if not ok or type(parts) ~= 'table' or type(parts.quotas) ~= 'table' then return false end
    if parts.places ~= nil and not is_amount(parts.places) then return false end
    local places, of_units = {}, {}
    for index, part in ipairs(parts.quotas) do
      if not is_part(part) then return false end
      parts.hasUnits = parts.hasUnits or part.unit ~= nil
      if not part.over then table.insert(part.unit and of_units or places, index) end
    end
    -- Those of units come last, so that one is seen to hold a job only where the others do not.
    for _, index in ipairs(of_units) do places[#places + 1] = index end
    parts.order = places
    -- Those by which starts are counted: of the limit, and behind them those that are remembered.
    parts.counted, parts.quotas = parts.quotas, {}
    for index, part in ipairs(parts.counted) do
      if not part.over then parts.quotas[index] = part end
    end
    parts.isBinding, parts.charges = #parts.quotas > 0 or parts.places ~= nil, {}
    return parts
  end

  local function keep(limit, parts)
    for _, part in ipairs(parts.counted) do
      if part.zone and not part.length then quota.expect_zone(part.zone) end
    end
    known[limit] = parts
    return parts
  end

  -- nil where there are none.
  function usage.parts_of(limit)
    if not usage.has_parts(limit) then return nil end
    return known[limit] or keep(limit, parse(limit) or foreign('buckets'))
  end

  -- Checks a limit of the caller's. Called before anything is written for a bucket of it.
  function usage.expect_limit(limit)
    if not known[limit] then keep(limit, parse(limit) or refuse_arguments()) end
  end

  function usage.new(parts, lost_at, changed_at)
    local use = { lostAt = lost_at, changedAt = changed_at, sums = {}, begun = {}, lastTurn = 0 }
    for index = 1, #parts.counted do use[index] = { ends = {}, used = {}, sum = 0 } end
    return use
  end

  -- Which count of a unit the bucket has: a unit that the limit was without for a time begins another one, and what ran before
  -- counts nothing in it.
  function usage.count_of(bucket, unit)
    return bucket.use.begun[unit] or bucket.n
  end
end
