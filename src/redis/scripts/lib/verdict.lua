-- The verdict on a request: `judge` of src/core/verdict.ts, for a line in Redis.

-- Entries that this call has looked at.
local looked_at = 0

-- Cost units of the jobs that failed and wait for a retry.
local function retry_units(bucket)
  return bucket.returned - bucket.backUnits
end

local judge
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

  -- When a new job departs, and how many retries depart before it.
  local function departure_behind(bucket, projection)
    local waiting = bucket.waiting - bucket.grantedCost
    if bucket.inRetry == 0 then return projection.slot + spacing(bucket, projection.warmth, waiting), 0 end
    local function after(units) return projection.slot + spacing(bucket, projection.warmth, units) end
    local function first() return returned_of(bucket, 'retry') end
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

  -- When `open` cost units of the jobs without a slot will have departed. Looks at the jobs one by one, as they cost more than 1.
  local function departure_of_first(open, bucket, projection, now)
    local together, looked = 0, 0
    -- Of the jobs not looked at yet, the units that wait for nothing but their slots.
    local others = bucket.waiting - bucket.grantedCost - retry_units(bucket)
    local function wait_for(ready_at)
      if ready_at <= projection.slot + spacing(bucket, projection.warmth, together) then return end
      advance(projection, bucket, together)
      advance(projection, bucket, 0, ready_at)
      together = 0
    end
    local function first() return departures(bucket, now) end
    while true do
      local entry = nth(bucket, 'order', looked + 1, first)
      if not entry then break end
      if looked == FARTHEST_LOOK then
        if open > others then wait_for(tonumber(redis.call('ZRANGE', K.retry .. bucket.n, -1, -1, 'WITHSCORES')[2]) - set_back()) end
        together = together + open - 1
        break
      end
      looked = looked + 1
      if entry.readyAt then wait_for(entry.readyAt) else others = others - entry.cost end
      open = open - entry.cost
      if open <= 0 then break end
      together = together + entry.cost
    end
    advance(projection, bucket, together)
    return projection.slot
  end

  -- When `units` cost units will have departed; one interval from now where the head is due and still waits.
  local function departure_of(units, bucket, now)
    local open = units - bucket.grantedCost
    local projection, slot = projection_of(bucket, now), bucket.grantedSlot
    if bucket.granted == '' or open > 0 then
      local jobs = bucket.inLine + bucket.inHanded + retrying(bucket) - (bucket.granted ~= '' and 1 or 0)
      local units_of_jobs = bucket.waiting - bucket.grantedCost
      -- Where each job costs 1 and enough of them wait for nothing but their slots, their order does not matter.
      if jobs == units_of_jobs and open <= units_of_jobs - retry_units(bucket) then
        slot = projection.slot + spacing(bucket, projection.warmth, open - 1)
      else
        slot = departure_of_first(open, bucket, projection, now)
      end
    end
    return slot > now and slot or now + spacing(bucket, projection.warmth, 1)
  end

  -- Returns departsAt and position; or nil, the reason, and when the same request would be accepted. What `usage.judge` returns
  -- besides comes last.
  function judge(bucket, cost, settings, deadline, now)
    if cost > bucket.capacity then return nil, 'too-costly', INF end
    forget_old_time(bucket, now)
    if usage.binding(bucket) then return usage.judge(bucket, cost, settings, deadline, now, departure_behind) end
    local departs_at, retries_ahead = departure_behind(bucket, projection_of(bucket, now))
    local late = departs_at - deadline
    local in_time = late > ROUNDING and now + late or now
    local excess = bucket.waiting + cost - bucket.capacity
    if excess > 0 then
      local room = departure_of(excess, bucket, now)
      if in_time > room then return nil, 'deadline', in_time end
      return nil, bucket.paused == 1 and 'paused' or 'full', room
    end
    if in_time > now then return nil, 'deadline', in_time end
    if bucket.paused == 1 and deadline ~= INF then return nil, 'paused', now + bucket.interval end
    return departs_at, bucket.inLine + bucket.inHanded + bucket.inBack + retries_ahead + 1
  end
end
