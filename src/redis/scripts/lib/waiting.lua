-- What waits for a slot, in sums: whether the quotas could hold any of it is known without reading a job, as in
-- src/core/waiting-charges.ts. And what a slot takes out of them and counts in the quotas.
-- of: usage

do
  -- So many cost units more, or fewer, were handed over and have no slot: one job, which was handed over by that epoch.
  function usage.count_handed(bucket, epoch, units)
    bucket.handed = bucket.handed + units
    if bucket.member then family.note_in_hand(bucket, epoch, units) end
  end

  -- A job begins to wait for a slot, or with -1 waits for none any more; `settings` name its costs, nil: it cannot be read.
  function usage.count(bucket, settings, sign)
    local parts, use = usage.of(bucket)
    if not parts or not parts.hasUnits then return end
    bucket.isUseChanged = true
    if not settings then use.sums = {} end
    for unit, units in pairs(usage.named(settings) or {}) do
      local sum = use.sums[unit]
      if sum then sum.jobs, sum.units = sum.jobs + sign, sum.units + sign * units end
    end
  end

  function usage.is_counted(bucket)
    local parts, use = usage.of(bucket)
    for _, part in ipairs(parts.hasUnits and parts.quotas or {}) do
      if part.unit and not use.sums[part.unit] then return false end
    end
    return true
  end

  -- Counts anew; `next_one` returns what waits without a slot, one by one.
  function usage.recount(bucket, next_one)
    local parts, use = usage.of(bucket)
    for _, part in ipairs(parts.counted) do
      if part.unit then use.sums[part.unit] = { jobs = 0, units = 0 } end
    end
    for entry in next_one do usage.count(bucket, usage.settings_of(entry.id) or '', 1) end
  end

  -- What waits without a slot counts in a quota; Infinity: unknown.
  local function charge_of_waiting(bucket, part)
    if not part.unit then return bucket.waiting - bucket.grantedCost end
    local sum = bucket.use.sums[part.unit]
    return sum and sum.units + (jobs_without_slot(bucket) - sum.jobs) * part.each or INF
  end

  -- For how many further jobs with these charges the sums tell that no quota holds one of them, or of those that wait.
  function usage.fitting(bucket, charges)
    local use, jobs = bucket.use, INF
    for index, part in ipairs(bucket.parts.quotas) do
      local left = part.amount - charge_of_waiting(bucket, part) - (use[index].sum or quota.sum(use[index]))
      jobs = math.min(jobs, math.floor(left / charges[index]))
    end
    return jobs
  end

  local function counted_from(use, from)
    local ends, used, sum = use.ends, use.used, 0
    for entry = #ends, 1, -1 do
      if ends[entry] <= from then break end
      sum = sum + used[entry]
    end
    return sum
  end

  -- Whether a quota might hold one of the jobs that wait, or a further one with these charges, from a time on.
  function usage.may_hold(bucket, charges, from)
    local parts, use = usage.of(bucket)
    for index, part in ipairs(parts.quotas) do
      local total = (charges and charges[index] or 0) + charge_of_waiting(bucket, part)
      if total > part.amount or total + quota.sum(use[index]) > part.amount and total + counted_from(use[index], from) > part.amount then
        return true
      end
    end
    return false
  end
end

-- Whether neither a place nor a quota holds what waits, from `slot` on, whatever comes first.
function usage.is_free(bucket, slot)
  return not usage.is_full(bucket, bucket.running + bucket.inHanded) and not usage.may_hold(bucket, nil, slot)
end

-- Counts the slot that the bucket has granted, or, with -1, takes that back. `settings`: of its job, if they are known.
function usage.charge_slot(bucket, sign, now, settings)
  if now then usage.forget_over(bucket, now) end
  local parts, use = usage.of(bucket)
  if not parts then return end
  for index = 1, now and #parts.counted or 0 do forward.forget(use[index].ends, use[index].used, now) end
  settings = settings or parts.hasUnits and usage.settings_of(bucket.granted) or nil
  usage.charge(bucket, usage.charges(parts, bucket.grantedCost, settings), bucket.grantedSlot, sign)
  usage.count(bucket, settings, -sign)
end

-- The granted job starts at `at`. Returns what it is charged in named units.
function usage.move_to(bucket, at)
  local parts = usage.of(bucket)
  if parts and parts.hasUnits and is_turn(bucket.granted) then bucket.use.lastTurn, bucket.isUseChanged = at, true end
  local is_moved = parts and not usage.is_same_time(parts, bucket.grantedSlot, at)
  if not is_moved and not (parts and parts.hasUnits) then return '' end
  local charges = usage.charges_of(parts, bucket.granted, bucket.grantedCost)
  if is_moved then
    usage.charge(bucket, charges, bucket.grantedSlot, -1)
    usage.charge(bucket, charges, at)
  end
  return usage.charged(bucket, charges)
end
