-- What totals have as the sum of what the buckets below them hold: it changes by what a bucket holds more when it is written.
-- of: family

do
  -- What a total has as the sum of what the buckets below it have.
  local function sums_of(bucket)
    return bucket.waiting, bucket.running, bucket.inHanded, bucket.handed, bucket.turns, bucket.grantedCost, bucket.granted ~= '' and 1 or 0
  end

  -- What a weight adds to a sum of them: `weigh` of src/core/fair-queue.ts.
  function family.weigh(weight)
    return math.floor(weight / family.WEIGHT_PART + 0.5) * family.WEIGHT_PART
  end

  -- The bucket is as it is written: what its totals count of it.
  function family.note(bucket)
    bucket.summed = { sums_of(bucket) }
  end

  function family.grants_of(bucket)
    return bucket.summed[7]
  end

  function family.granted_cost_of(bucket)
    return bucket.summed[6]
  end

  function family.add(total, waiting, running, in_handed, handed, turns, granted_cost, grants)
    if waiting ~= 0 then total.waiting = math.max(0, total.waiting + waiting) end
    if running ~= 0 then total.running = math.max(0, total.running + running) end
    if in_handed ~= 0 then total.inHanded = math.max(0, total.inHanded + in_handed) end
    if handed ~= 0 then total.handed = math.max(0, total.handed + handed) end
    if turns ~= 0 then total.turns = math.max(0, total.turns + turns) end
    if granted_cost ~= 0 then total.grantedCost = math.max(0, total.grantedCost + granted_cost) end
    if grants ~= 0 then total.grants = math.max(0, total.grants + grants) end
    family.touch(total)
  end

  -- Adds to all totals above the bucket what it holds more than when it was read or written last.
  function family.sync(bucket)
    if bucket.before then family.enter(bucket) end
    if bucket.member and bucket.member.reweighed then family.reweigh(family.totals_of(bucket)[1], bucket.member) end
    local waiting, running, in_handed, handed, turns, granted_cost, grants = sums_of(bucket)
    local was = bucket.summed
    local more, more_running, more_in_handed, more_handed = waiting - was[1], running - was[2], in_handed - was[3], handed - was[4]
    local more_turns, more_cost, more_grants = turns - was[5], granted_cost - was[6], grants - was[7]
    if more == 0 and more_running == 0 and more_in_handed == 0 and more_handed == 0 and more_turns == 0 and more_cost == 0
      and more_grants == 0 then return end
    bucket.summed = { waiting, running, in_handed, handed, turns, granted_cost, grants }
    if not bucket.member then return end
    local totals = family.totals_of(bucket)
    usage.work = usage.work + #totals
    for _, total in ipairs(totals) do
      family.add(total, more, more_running, more_in_handed, more_handed, more_turns, more_cost, more_grants)
    end
  end
end
