-- When jobs of a line depart by the pace, where that takes a look at them: where retries wait, or jobs cost different amounts.
-- of: entries

do
  -- The entry at a place, counted from 1, of those that the iterator `first()` returns. They are kept with the bucket, so that
  -- a call that judges many requests reads them once.
  local function nth(bucket, name, place, first)
    local read = bucket[name]
    if not read then
      read = { next = first() }
      bucket[name] = read
    end
    while #read < place do
      local entry = read.next()
      if not entry then return nil end
      read[#read + 1] = entry
      looked_at = looked_at + 1
    end
    return read[place]
  end

  -- When a new job departs where retries wait, and how many of them depart before it.
  function entries.departure_past_retries(bucket, projection)
    local waiting = bucket.waiting - bucket.grantedCost
    local function after(units) return projection.slot + spacing(bucket, projection.warmth, units) end
    local function first() return entries.returned(bucket, 'retry') end
    local gaps = bucket.inLine + 1 - bucket.linesTurn
    local units, ahead = waiting - retry_units(bucket), 0
    local departs_at = after(units)
    while ahead < gaps do
      local retry = nth(bucket, 'retries', ahead + 1, first)
      if not retry then break end
      if ahead == FARTHEST_LOOK then return after(waiting), math.min(gaps, bucket.inRetry) end
      if retry.readyAt > departs_at then departs_at = after(units) end
      if retry.readyAt > departs_at then break end
      units, ahead = units + retry.cost, ahead + 1
    end
    return after(units), ahead
  end

  -- When `open` cost units of the jobs without a slot will have departed, and whether that is exact. Looks at the jobs one by
  -- one, as they cost more than 1.
  local function departure_of_first(open, bucket, projection, now)
    local together, looked, is_exact = 0, 0, true
    -- Of the jobs not looked at yet, the units that wait for nothing but their slots.
    local others = bucket.waiting - bucket.grantedCost - retry_units(bucket)
    local function wait_for(ready_at)
      if ready_at <= projection.slot + spacing(bucket, projection.warmth, together) then return end
      advance(projection, bucket, together)
      advance(projection, bucket, 0, ready_at)
      together = 0
    end
    local function first() return entries.departures(bucket, now) end
    while true do
      local entry = nth(bucket, 'order', looked + 1, first)
      if not entry then break end
      if looked == FARTHEST_LOOK then
        if open > others then wait_for(tonumber(redis.call('ZRANGE', K.retry .. bucket.suffix, -1, -1, 'WITHSCORES')[2]) - set_back()) end
        together, is_exact = together + open - 1, bucket.inRetry == 0 and others == jobs_without_slot(bucket) - looked
        break
      end
      looked = looked + 1
      if entry.readyAt then wait_for(entry.readyAt) else others = others - entry.cost end
      open = open - entry.cost
      if open <= 0 then break end
      together = together + entry.cost
    end
    advance(projection, bucket, together)
    return projection.slot, is_exact
  end

  -- When `units` cost units will have departed, and whether that is exact; one interval from now where the head is due and still waits.
  function entries.departure_of(units, bucket, now)
    local open = units - bucket.grantedCost
    local projection, slot, is_exact = projection_of(bucket, now), bucket.grantedSlot, true
    if bucket.granted == '' or open > 0 then
      local units_of_jobs = bucket.waiting - bucket.grantedCost
      -- Where each job costs 1 and enough of them wait for nothing but their slots, their order does not matter.
      if jobs_without_slot(bucket) == units_of_jobs and open <= units_of_jobs - retry_units(bucket) then
        slot = projection.slot + spacing(bucket, projection.warmth, open - 1)
      else
        slot, is_exact = departure_of_first(open, bucket, projection, now)
      end
    end
    return slot > now and slot or now + spacing(bucket, projection.warmth, 1), is_exact
  end
end
