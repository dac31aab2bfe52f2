-- The totals above a key, as its rule has them.
-- of: family

do
  local chains = {}

  -- The totals of a rule, the outermost first, each as `new_bucket` takes it, and the weight of the bucket below them.
  function family.chain_of(text)
    if chains[text] then return chains[text] end
    local ok, values = pcall(cjson.decode, text)
    if not ok or type(values) ~= 'table' or type(values[1]) ~= 'number' then foreign('buckets') end
    local chain = { weight = values[1], paths = {} }
    for index = 2, #values do
      local path, pattern, capacity, interval, tolerance, warm_up, cold, weight, limit = unpack(values[index])
      chain[index - 1] = { path = path, pattern = pattern, capacity = capacity, interval = interval, tolerance = tolerance, warmUp = warm_up,
        coldInterval = cold, weight = weight, limit = limit, chain = '' }
      chain.paths[index - 1] = path
    end
    chains[text] = chain
    return chain
  end

  -- Checks what a caller passes. Called before anything is written.
  function family.expect_chain(text)
    local ok, chain = pcall(family.chain_of, text)
    if not ok then refuse_arguments() end
    for _, rule in ipairs(chain) do
      if usage.has_parts(rule.limit) then usage.expect_limit(rule.limit) end
    end
  end

  -- Its quotas have changed. What was handed over counts on in those that count the same; in others what is handed over from now on.
  local function carry_handed(total, before)
    local counted, parts = total.handedUse, usage.of(total)
    total.handedUse = {}
    for index, part in ipairs(parts and parts.quotas or {}) do
      for at, old in ipairs(before and before.quotas or {}) do
        if old.unit == part.unit and old.each == part.each then total.handedUse[index] = counted[at] end
      end
      total.handedUse[index] = total.handedUse[index] or 0
    end
  end

  -- Keeps a total under this rule, a new one if there is none.
  local function keep(rule, parent, book, now)
    local total = family.total(rule.path)
    rule.book = book
    if not total then
      local n = family.isReadOnly and 0 or redis.call('HINCRBY', K.meta, 'totals', 1)
      total = new_bucket(rule.path, n, rule, now)
      total.weight, total.tag, total.virtual, total.joining, total.largest, total.highest, total.weights = rule.weight, 0, 0, 0, 0, 0, 0
      total.standing, total.children, total.takers, total.grants, total.parent, total.isTotal = 0, 0, 0, 0, '', true
      total.moves, total.handedUse, total.hadChildren, total.hadTurns, total.movedAt = {}, {}, true, false, 0
      family.forget_marks(total)
      family.totals[rule.path] = total
      -- Of a key that was forgotten since, a turn may still be settled.
      if not family.isReadOnly then usage.note_uncounted(total, now) end
    end
    if total.book < book then
      local tolerance, parts = total.tolerance, usage.of(total)
      if change_limit(total, rule, now) then carry_handed(total, parts) end
      -- The last job that was granted a slot may start until the same time as before.
      if total.grantedSlot > 0 then total.grantedSlot = total.grantedSlot + tolerance - total.tolerance end
    end
    local above = total.parent ~= '' and family.total(total.parent)
    if total.parent ~= parent and not family.isReadOnly then
      if above then
        family.stand(above, total, total.key, nil)
        above.children = math.max(0, above.children - 1)
      else
        -- Those below it stand for the family no more: the new outermost total does.
        redis.call('ZREM', K.due, total.key)
        redis.call('ZREM', K.turns, total.key)
      end
      total.parent, total.tag, above = parent, 0, parent ~= '' and family.total(parent)
      if above then above.children = above.children + 1 end
    end
    if total.weight ~= rule.weight then
      if above and total.standing == 1 then above.weights = above.weights + family.weigh(rule.weight) - family.weigh(total.weight) end
      total.weight = rule.weight
    end
    family.touch(total)
  end

  -- Keeps all totals of a rule; returns the path of the innermost.
  function family.keep_chain(text, book, now)
    local path = ''
    for _, rule in ipairs(family.chain_of(text)) do
      keep(rule, path, book, now)
      path = rule.path
    end
    return path
  end

  -- The totals of a chain, the innermost first.
  function family.totals_in(text)
    local chain = family.chain_of(text)
    if chain.totals then return chain.totals end
    local paths, totals = chain.paths, {}
    for index = #paths, 1, -1 do
      local total = family.total(paths[index])
      -- Its record is gone, which only a foreign hand can have done: it begins anew.
      if not total then
        family.keep_chain(text, 0, time_read)
        total = family.total(paths[index])
      end
      totals[#totals + 1] = total
    end
    chain.totals = totals
    return totals
  end

  -- Those above a bucket.
  function family.totals_of(bucket)
    local member = bucket.member
    if not member.totals then member.totals = family.totals_in(member.chain) end
    return member.totals
  end
end
