-- What waits for a slot, in sums: whether the quotas could hold any of it is known without reading a job, as in
-- src/core/waiting-charges.ts. And what a slot takes out of them and counts in the quotas.

local function jobs_without_slot(bucket)
  return bucket.inLine + bucket.inHanded + retrying(bucket) - (bucket.granted ~= '' and 1 or 0)
end

do
  -- With what a quota counts, its sums are kept as entries that ended before any clock began, so that code which does not know them
  -- counts none of them, and drops them with the next slot: how many jobs ever joined the line and how many wait without a slot, by
  -- which it shows that such code has let one in or out since; how many of those name the unit, and how much; and when a turn last started.
  local COUNTED = { -5, -4, -3, -2, -1 }

  -- How many of the entries that were read, from one on, are sums.
  function usage.sums_in(ends, from)
    return ends[from] == COUNTED[1] and #COUNTED or 0
  end

  -- The sums by unit, of those that are known; `kept` by place of the quota: what was written.
  function usage.known_sums(bucket, parts, kept)
    local jobs, sums = jobs_without_slot(bucket), {}
    for index, part in ipairs(parts.quotas) do
      local unit, numbers = part.unit, kept[index]
      if unit and jobs == 0 then sums[unit] = { jobs = 0, units = 0 }
      elseif unit and numbers and numbers[1] == bucket.joined and numbers[2] == jobs then
        sums[unit] = { jobs = numbers[3], units = numbers[4] }
      end
    end
    return sums
  end

  -- What is written before the entries of a quota: their ends, and what counts.
  function usage.counted(bucket, part)
    if not part.unit then return '', '', 0 end
    local sum, joined = bucket.use.sums[part.unit], bucket.joined
    if not sum then sum, joined = { jobs = 0, units = 0 }, -1 end
    local values = struct.pack('<ddddd', joined, jobs_without_slot(bucket), sum.jobs, sum.units, bucket.use.lastTurn)
    return struct.pack('<ddddd', unpack(COUNTED)), values, #COUNTED
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

  -- Counts anew; `next_one` returns what waits without a slot, one by one. Returns how many that are.
  function usage.recount(bucket, next_one)
    local parts, use = usage.of(bucket)
    for _, part in ipairs(parts.quotas) do
      if part.unit then use.sums[part.unit] = { jobs = 0, units = 0 } end
    end
    local looked = 0
    for entry in next_one do
      usage.count(bucket, usage.settings_of(entry.id) or '', 1)
      looked = looked + 1
    end
    return looked
  end

  -- What waits without a slot counts in a quota; Infinity: unknown.
  local function charge_of_waiting(bucket, part)
    if not part.unit then return bucket.waiting - bucket.grantedCost end
    local sum = bucket.use.sums[part.unit]
    return sum and sum.units + (jobs_without_slot(bucket) - sum.jobs) * part.each or INF
  end

  -- Whether a quota might hold one of the jobs that wait, or a further one with these charges, from a time on.
  function usage.may_hold(bucket, charges, from)
    local parts, use = usage.of(bucket)
    for index, part in ipairs(parts.quotas) do
      local total, ends, used = (charges and charges[index] or 0) + charge_of_waiting(bucket, part), use[index].ends, use[index].used
      for entry = #ends, 1, -1 do
        if ends[entry] <= from then break end
        total = total + used[entry]
      end
      if total > part.amount then return true end
    end
    return false
  end
end

-- Counts the slot that the bucket has granted, or, with -1, takes that back.
function usage.charge_slot(bucket, sign, now)
  local parts, use = usage.of(bucket)
  if not parts then return end
  for index = 1, now and #parts.quotas or 0 do forward.forget(use[index].ends, use[index].used, now) end
  local settings = parts.hasUnits and usage.settings_of(bucket.granted) or nil
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
