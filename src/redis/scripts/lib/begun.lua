-- What a start counts in the totals above its bucket, and what is settled of it.
-- of: family

do
  -- What a start takes for each total, beside the job itself: see usage.is_enough.
  local WORK = 4

  -- The granted job starts at `at`.
  function family.start(bucket, state, at)
    local member, totals = bucket.member, family.totals_of(bucket)
    usage.work = usage.work + WORK * #totals
    for index, total in ipairs(totals) do
      local slot = member.slots[index]
      local _, charges = family.use_of(total, state.id, state.cost)
      if slot and charges then usage.discharge(total, charges, member.counted[index], member.stamp) end
      if charges then usage.charge(total, charges, usage.counted_at(total, at)) end
      -- It had no slot when the total came, or the total has one slot at a time, or its process was stopped after its last look at the clock.
      if not slot or at > member.counted[index] - clock_error(total) then
        local next_ = at + spacing(total, total.warmth, state.cost)
        if next_ > total.next then total.next, total.carry = next_, 0 end
      end
      if at >= total.lastStart then
        total.lastStart, total.startedCost, total.startedWarmth = at, state.cost, total.lastWarmth
      end
      family.note_start(total, state.epoch)
      family.touch(total)
    end
    family.drop_slots(member)
  end

  -- What stands for a bucket that is forgotten: the totals above its key, which may still count its starts; nil: there are none.
  function family.forgotten(key)
    local path, totals = key .. '/', {}
    for at = #path, 1, -1 do
      local total = string.byte(path, at) == 47 and family.total(string.sub(path, 1, at))
      if total then totals[#totals + 1] = total end
    end
    -- Its own place among those that share them is forgotten, too.
    return #totals > 0 and { key = key, limit = '', isForgotten = true, member = { tag = -INF, weight = INF, totals = totals } } or nil
  end

  -- What it really counted, in place of what was estimated. A turn that has ended comes with its settings: its record may be gone.
  function family.settle_costs(bucket, state, amounts, now, lost_at)
    local child = bucket.member
    for _, total in ipairs(family.totals_of(bucket)) do
      local parts = usage.of(total)
      if parts and #parts.counted > 0 then
        local estimated = usage.charges(parts, state.cost, parts.hasUnits and (state.settings or usage.settings_of(state.id)))
        local start = { fence = state.fence, departedAt = state.departedAt, charges = estimated }
        local charges = usage.settle(total, start, amounts, now, lost_at)
        local more = family.use_by(total, parts, charges, state.cost) - family.use_by(total, parts, estimated, state.cost)
        child.tag, total.largest = child.tag + more / child.weight, math.max(total.largest, more / child.weight)
        total.highest = math.max(total.highest, child.tag)
        family.touch(total)
      end
      child = total
    end
  end
end
