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

  -- Adds to all totals above the bucket what it holds more than when it was read or written last. Most of the time that is nothing.
  function family.sync(bucket)
    if bucket.before then family.enter(bucket) end
    local member, was = bucket.member, bucket.summed
    if member and member.reweighed then family.reweigh(family.totals_of(bucket)[1], member) end
    local waiting, running, in_handed, handed, turns, granted_cost, grants = sums_of(bucket)
    if running == was[2] and in_handed == was[3] and handed == was[4] and waiting == was[1] and granted_cost == was[6] and grants == was[7]
      and turns == was[5] then return end
    if member then
      local totals = family.totals_of(bucket)
      usage.work = usage.work + #totals
      for _, total in ipairs(totals) do
        family.add(total, waiting - was[1], running - was[2], in_handed - was[3], handed - was[4], turns - was[5], granted_cost - was[6],
          grants - was[7])
      end
    end
    was[1], was[2], was[3], was[4], was[5], was[6], was[7] = waiting, running, in_handed, handed, turns, granted_cost, grants
  end
end
