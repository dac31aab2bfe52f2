-- What the quotas of a bucket count under a limit that has changed: `changeUsage` of src/core/usage.ts.

do
  local function is_same_window(a, b)
    return a.length == b.length and a.period == b.period and a.zone == b.zone
  end

  -- Of the quotas of the same unit, the one with the same window, or else the one that looks back farthest.
  local function source_of(before, part)
    local source, longest
    for index, known in ipairs(before.quotas) do
      if known.unit == part.unit then
        if is_same_window(known, part) then return index end
        local length = known.length or quota.LENGTHS[known.period]
        if not longest or length > longest then source, longest = index, length end
      end
    end
    return source
  end

  -- The usage under a limit that changed at `now`.
  local function changed_use(before, use, after, now)
    local changed = usage.new(after, use.lostAt, use.changedAt)
    changed.lastTurn = use.lastTurn
    for index, part in ipairs(after.quotas) do
      local source = source_of(before, part)
      if part.unit then
        changed.sums[part.unit] = use.sums[part.unit]
        changed.begun[part.unit] = source and use.begun[part.unit] or not source and now or nil
      end
      -- Of a start that an older version counted it is not known what it was charged before.
      if not source or before.quotas[source].each ~= part.each then changed.changedAt = now end
      if source and is_same_window(before.quotas[source], part) then changed[index] = use[source]
      elseif source then changed[index] = usage.carried(before.quotas[source], use[source], part, now) end
    end
    return changed
  end

  -- Changes the bucket's limit. A slot that it has granted counts under the new one.
  function usage.change_limit(bucket, limit, now)
    local before, use = usage.of(bucket)
    if before and bucket.granted ~= '' then usage.charge_slot(bucket, -1) end
    bucket.limit, bucket.parts, bucket.partsOf = limit, usage.parts_of(limit), limit
    if not before and not bucket.parts then return end
    local none = { quotas = {} }
    bucket.use = changed_use(before or none, use or usage.new(none, 0, 0), bucket.parts or none, now)
    bucket.isUseChanged = #(before or none).quotas > 0 or #(bucket.parts or none).quotas > 0
    if bucket.parts then usage.allow_for_loss(bucket) end
    if bucket.parts and bucket.granted ~= '' then usage.charge_slot(bucket, 1) end
  end
end
