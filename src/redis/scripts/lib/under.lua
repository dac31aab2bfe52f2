-- What a slot and a start take of the totals above a bucket. A total may have granted several slots whose jobs have not started: so each
-- is to start within the tolerance of its slot, or asks again, and its slot is given up.
-- of: family

do
  -- A slot that is later than this share of the tolerance leaves too little time to start.
  local SHARE = 0.5
  -- Of the tolerance, what the error of a clock may use.
  local MOST_USED = 0.7
  -- What a slot takes for each total, beside the job itself: see usage.is_enough.
  local WORK = 4

  -- A late start must not come right behind a later one that keeps others away for longer than the tolerance: that one waits for it.
  function family.after_grants(bucket, total, cost)
    if total.grants <= family.grants_of(bucket) or cost * total.interval <= total.tolerance then return -INF end
    return (total.grantedSlot > 0 and total.grantedSlot or total.next) + total.tolerance
  end

  -- The time from `from` on at which all limits let the job start that its own lets go at `due`, and since when they do; nil: a total is
  -- paused, or has no place.
  function family.earliest(bucket, meta, job, due, from, now)
    local totals, own, charges = family.totals_of(bucket), usage.of(bucket), {}
    usage.work = usage.work + WORK * #totals
    for index, total in ipairs(totals) do
      local others = total.grants - family.grants_of(bucket)
      allow_for_clock(total, meta, now, total.grantedCost - family.granted_cost_of(bucket))
      if total.paused == 1 or usage.is_full(total, total.running + others) then return nil end
      due = math.max(due, total.next, total.frozen, family.after_grants(bucket, total, job.cost))
      charges[index] = select(2, family.use_of(total, job.id, job.cost))
    end
    if not own and not next(charges) then return math.max(due, from), due end
    local function room_at(at)
      local later = at
      repeat
        at = later
        for index, total in ipairs(totals) do
          if charges[index] then
            local parts, use = usage.of(total)
            later = usage.room_at(parts, use, charges[index], later)
          end
        end
        if own then later = usage.room_at(own, bucket.use, usage.charges(own, job.cost, job.settings), later) end
      until later == at
      return at
    end
    due = room_at(due)
    return from > due and room_at(from) or due, due
  end

  -- How late a start may be for a bucket below totals and each of them: the error of a worker's clock is allowed for by that.
  function family.tolerance(bucket)
    local least = bucket.tolerance
    for _, total in ipairs(family.totals_of(bucket)) do least = math.min(least, total.tolerance) end
    return least
  end

  -- When to ask again for a slot, because another job has the only one of a total; nil: none has.
  function family.busy_until(bucket, now)
    for _, total in ipairs(family.totals_of(bucket)) do
      if total.grants > family.grants_of(bucket) and family.has_one_slot(total) then return now + math.max(1000, math.min(50000, total.interval / 4)) end
    end
  end

  -- Reserves a slot of each total for a start from `start_at` on. Returns the latest time of that. A worker waits for as long as its
  -- clock may be ahead, and may start later by as much as it may be behind, both `off`: where that leaves it too little time, those behind
  -- it wait as well.
  function family.reserve(bucket, meta, job, start_at, now, off)
    local member = bucket.member
    -- It tells whether what is charged now stands where it was counted. The fence of the job may be older: it can be granted anew.
    member.slots, member.counted, member.stamp = {}, {}, next_stamp(meta, 'fence', now)
    local latest, uses = INF, math.min(FARTHEST_SLOT, off)
    for index, total in ipairs(family.totals_of(bucket)) do
      local due = math.max(total.next, total.frozen)
      local slot = reserve(total, job.cost, start_at - due <= SHARE * total.tolerance and due or start_at)
      local late = family.has_one_slot(total) and 0 or math.max(0, start_at - slot + uses - MOST_USED * total.tolerance)
      local until_ = slot + total.tolerance + late
      total.grantedSlot, total.next = until_ - total.tolerance, total.next + late
      local _, charges = family.use_of(total, job.id, job.cost)
      if charges then
        family.count_handed(total, charges, -1)
        usage.forget_over(total, now)
        local parts, use = usage.of(total)
        -- It had a quota only before, and that is over.
        if parts then
          for at = 1, #parts.counted do forward.forget(use[at].ends, use[at].used, now) end
          -- It is known only later when it started: until then it counts as long as it can.
          usage.charge(total, usage.charges_of(parts, job.id, job.cost), until_)
        end
      end
      member.slots[index], member.counted[index] = slot, until_
      if not family.has_one_slot(total) then latest = math.min(latest, until_ - clock_error(total)) end
      family.touch(total)
    end
    return latest
  end

  -- Gives the slots back that the job was granted. Those behind it stand: so only the last one of a total is free again.
  function family.unreserve(bucket)
    local member = bucket.member
    for index, total in ipairs(family.totals_of(bucket)) do
      local slot = member.slots[index]
      if slot then
        local _, charges = family.use_of(total, bucket.granted, bucket.grantedCost)
        if charges then usage.discharge(total, charges, member.counted[index], member.stamp) end
        family.count_handed(total, charges, 1)
        if total.grantedSlot == member.counted[index] - total.tolerance then
          total.next = math.max(slot, total.lastStart - total.tolerance + spacing_after_start(total))
          total.carry, total.lastCost, total.grantedSlot = 0, 0, 0
          total.warmth = math.min(total.warmth, total.lastWarmth)
        end
        family.touch(total)
      end
    end
    family.drop_slots(member)
  end
end
