-- What the quotas of a bucket count under a limit that has changed: `changeUsage` of src/core/remembered.ts.
-- of: usage

do
  local function length_of(part)
    return part.length or quota.LENGTHS[part.period]
  end

  -- Whether it surely looks back as far as the one that is wanted.
  local function looks_back(part, wanted)
    return part.length ~= nil and part.length >= length_of(wanted) + (wanted.length and 0 or quota.LONGER)
  end

  local function is_better(part, best, wanted)
    local is_enough, is_best_enough = looks_back(part, wanted), looks_back(best, wanted)
    if is_enough ~= is_best_enough then return is_enough end
    local longer = length_of(part) - length_of(best)
    if is_enough then return longer < 0 end
    return longer > 0
  end

  -- The quota from which one goes on: `sourceOf` of the same file.
  local function source_of(before, use, wanted, now)
    local best
    for index, part in ipairs(before.counted) do
      if part.unit == wanted.unit and not usage.is_over(part, use[index], now) then
        if usage.is_same_window(part, wanted) then return index end
        if not best or is_better(part, before.counted[best], wanted) then best = index end
      end
    end
    return best
  end

  -- The usage under a limit that changed at `now`. A total does not know which slots below it are out: what these were charged is not to
  -- be given back where another count began, or what a unit that no job names counts is another.
  local function changed_use(before, use, after, now, is_total)
    local changed = usage.new(after, use.lostAt, use.changedAt)
    changed.lastTurn = use.lastTurn
    for index, part in ipairs(after.counted) do
      local source = source_of(before, use, part, now)
      if part.unit then
        changed.sums[part.unit] = use.sums[part.unit]
        changed.begun[part.unit] = source and use.begun[part.unit] or not source and now or nil
      end
      local is_as_before = source ~= nil and before.counted[source].each == part.each
      -- Of a start that an older version counted it is not known what it was charged before.
      if not is_as_before then changed.changedAt = now end
      if source and usage.is_same_window(before.counted[source], part) then changed[index] = use[source]
      elseif source then changed[index] = usage.carried(before.counted[source], use[source], part, now) end
      if is_total and not is_as_before then usage.note_moved(changed[index]) end
    end
    return changed
  end

  -- Counts on under the limit what was counted until now, and forgets what of that is over: `changeCounted` of src/core/remembered.ts.
  local function change_counted(bucket, limit, now)
    local none = { quotas = {}, counted = {} }
    local before, use = usage.of(bucket)
    local had_quotas = before ~= nil and #before.counted > 0
    before, use = before or none, use or usage.new(none, 0, 0)
    limit = usage.with_past(limit, before, use, now)
    bucket.limit, bucket.parts, bucket.partsOf = limit, usage.parts_of(limit), limit
    bucket.use = changed_use(before, use, bucket.parts or none, now, bucket.isTotal)
    bucket.isUseChanged = bucket.isUseChanged or had_quotas or #(bucket.parts or none).counted > 0
    if bucket.parts then usage.allow_for_loss(bucket) end
  end

  -- Changes the bucket's limit. A slot that it has granted counts under the new one.
  function usage.change_limit(bucket, limit, now)
    local is_granted = bucket.granted ~= ''
    if is_granted then usage.charge_slot(bucket, -1) end
    change_counted(bucket, limit, now)
    if is_granted then usage.charge_slot(bucket, 1) end
  end

  -- Forgets quotas that the bucket remembers, where they are over. Called before a slot is counted.
  function usage.forget_over(bucket, now)
    local parts, use = usage.of(bucket)
    if parts and usage.has_over(parts, use, now) then change_counted(bucket, usage.rule_of(bucket.limit), now) end
  end
end
