-- A total: one limit for the sum of a family. It is kept as a bucket under its path, with the queue of those that share it.
-- of: family

do
  local MAGIC, FORMAT = 0x5629, '<HI4I4ddddddddBI4I4I4dI4ddI4dddBs'

  local function parse(path, raw)
    local ok, magic, _, size, weight, tag, virtual, joining, largest, highest, weights, moved_at, standing, children, takers, grants, overdue, overdue_jobs, overdue_to,
      marked, marked_jobs, marked_to, marked_at, marked_ahead, uses, parent, at =
      pcall(struct.unpack, FORMAT, raw)
    if not ok or magic ~= MAGIC or at + size + uses * 8 ~= #raw + 1 then foreign('totals') end
    local total = parse_bucket(path, string.sub(raw, at, at + size - 1))
    total.weight, total.tag, total.virtual, total.joining, total.largest, total.highest = weight, tag, virtual, joining, largest, highest
    total.weights, total.standing, total.children, total.takers, total.grants = weights, standing, children, takers, grants
    -- A total whose record names itself as its parent, or a total below it, would make scripts run for ever.
    if parent ~= '' and (#parent >= #path or string.sub(path, 1, #parent) ~= parent) then foreign('totals') end
    total.parent, total.isTotal, total.moves, total.handedUse, total.movedAt = parent, true, {}, {}, moved_at
    total.overdue, total.overdueJobs, total.overdueTo = overdue, overdue_jobs, overdue_to
    total.marked, total.markedJobs, total.markedTo = marked, marked_jobs, marked_to
    total.markedAt, total.markedAhead = marked_at, marked_ahead
    for index = 1, uses do total.handedUse[index] = struct.unpack('<d', raw, at + size + (index - 1) * 8) end
    total.hadChildren, total.hadTurns = children > 0, total.turns > 0
    -- The clock may have been set back since: no child is to wait for that time.
    if time_read then
      total.lastStart, total.markedAt = math.min(total.lastStart, time_read + FARTHEST_SLOT), math.min(total.markedAt, time_read)
      forget_old_time(total, time_read)
    end
    return total
  end

  local function packed(total)
    local record, uses = record_of(total), {}
    for index, use in ipairs(total.handedUse) do uses[index] = struct.pack('<d', use) end
    return struct.pack(FORMAT, MAGIC, total.n, #record, total.weight, total.tag, total.virtual, total.joining, total.largest, total.highest, total.weights,
      total.movedAt, total.standing, total.children, total.takers, total.grants, total.overdue, total.overdueJobs, total.overdueTo,
      total.marked, total.markedJobs, total.markedTo, total.markedAt, total.markedAhead, #uses, total.parent) .. record .. table.concat(uses)
  end

  -- Checks what a call writes of the total at its end, when it is too late to refuse.
  local function expect_own(total)
    for _, name in ipairs({ 'later', 'ready' }) do
      local kind = redis.call('TYPE', K[name] .. total.n).ok
      if kind ~= 'zset' and kind ~= 'none' then foreign(name) end
    end
    usage.of(total)
  end

  -- The total of this path, once for each call; nil: there is none.
  function family.total(path)
    local totals = family.totals or {}
    family.totals = totals
    if totals[path] == nil then
      local raw = redis.call('HGET', K.totals, path)
      local total = raw and parse(path, raw) or false
      if raw and not family.isReadOnly then expect_own(total) end
      totals[path] = total
    end
    return totals[path] or nil
  end

  -- The total of this path, which stands below another total; nil: there is none, or its record is not ours. The second result is false
  -- where the record is not ours. That must not end a claim.
  function family.total_below(total, path)
    local is_readable, child = pcall(family.total, path)
    if not is_readable or child and child.parent ~= total.key then return nil, false end
    return child, true
  end

  -- Others are in hand than the claim marked (`overdue`), or a total is new.
  function family.forget_marks(total)
    total.marked, total.markedJobs, total.markedTo, total.markedAt, total.markedAhead = 0, 0, 0, 0, 0
    total.overdue, total.overdueJobs, total.overdueTo = 0, 0, 0
  end

  -- With less tolerance no worker could be sure to start in time: then a total has one slot at a time, as a bucket has.
  local LEAST_TOLERANCE = 4000
  function family.has_one_slot(total) return total.tolerance < LEAST_TOLERANCE end

  -- It is written when the call ends, and stands anew below its parent.
  function family.touch(total)
    if family.isReadOnly then return end
    family.touched = family.touched or {}
    family.touched[total.key] = total
  end

  -- The longest path, and its total: no other is below it.
  local function innermost(totals)
    local longest, total = next(totals)
    for path, other in next, totals, longest do
      if #path > #longest then longest, total = path, other end
    end
    return longest, total
  end

  -- Where all that was touched stands, from the inside out. `is_last`: and writes it.
  function family.settle_all(is_last)
    local touched, written = family.touched or {}, family.unwritten or {}
    family.touched, family.unwritten = touched, written
    -- The claim settles them as it chooses, and only the last time counts for when it is due again.
    if is_last then for path, total in pairs(written) do touched[path] = total end end
    while next(touched) do
      local path, total = innermost(touched)
      touched[path] = nil
      family.place(total)
      -- The due time of an outermost total is needed only once the claim has made all its choices.
      if is_last or total.parent ~= '' then family.settle(total, is_last) end
      written[path] = total
    end
    if not is_last or not next(written) then return end
    local records = {}
    for path, total in pairs(written) do
      records[#records + 1], records[#records + 2] = path, packed(total)
      if total.isUseChanged then usage.write(total) end
    end
    family.unwritten = nil
    redis.call('HSET', K.totals, unpack(records))
  end
end
