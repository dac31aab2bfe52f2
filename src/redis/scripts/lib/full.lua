-- The verdict on a job below totals, from that of the limit of its bucket alone: `judgeUnder` of src/core/total-verdict.ts.
-- of: family

do
  local IN = 1

  -- Whether nothing else waits below its totals, and nothing but a pace decides.
  function family.is_alone(bucket, totals, now)
    if bucket.inRetry > 0 or bucket.paused == 1 or not family.is_steady(bucket) then return false end
    for _, total in ipairs(totals) do
      if total.waiting > bucket.waiting or not family.is_steady(total) or total.paused == 1 or total.frozen > now then return false end
    end
    return true
  end

  -- The total that has no room, if one has none; and behind how many units it has: if they are of the bucket, and if they are of others.
  local function full_above(bucket, totals, cost)
    local waiting = bucket.waiting
    for _, total in ipairs(totals) do
      local room, asked = total.capacity - total.waiting, waiting + cost
      local others = math.max(cost - room, math.ceil(asked / family.SHARE_OF_ROOM) - room)
      if others > 0 then
        return total, math.max(cost - room, math.ceil((asked - family.SHARE_OF_ROOM * room) / (1 + family.SHARE_OF_ROOM))), others
      end
      waiting = total.waiting
    end
  end

  local function refused_at(bucket, totals, total, own, others, now)
    local reason = total.paused == 1 and 'paused' or 'full'
    if family.is_alone(bucket, totals, now) and own <= bucket.waiting then
      local from, interval = projection_of(bucket, now).slot, bucket.interval
      for _, shared in ipairs(totals) do from, interval = math.max(from, next_slot(shared, now)), math.max(interval, shared.interval) end
      return nil, reason, from + interval * (own - 1), nil, nil, total.key
    end
    local room_at = math.max(slot_behind(total, others - 1, now), now + total.interval)
    return nil, reason, room_at, true, nil, total.key
  end

  -- When the line has departed, if each child of each total goes on getting the share that it has now.
  local function departure_under(bucket, totals, now)
    local at, ahead, child = projection_of(bucket, now).slot, bucket.waiting - bucket.grantedCost, bucket.member
    for _, total in ipairs(totals) do
      local departs_at
      departs_at, ahead = family.place_under(total, child, ahead, 0, now)
      at, child = math.max(at, departs_at), total
    end
    return at
  end

  -- What `judge` returns comes last, and is returned with what totals change of it; and the path of the total that refuses.
  function family.judge(bucket, cost, settings, deadline, now, departs_at, place, retry_at, is_estimate, exceeded)
    if not departs_at and place == 'too-costly' then return nil, place, retry_at, is_estimate, exceeded end
    local totals = family.totals_of(bucket)
    for _, total in ipairs(totals) do
      forget_old_time(total, now)
      local parts = usage.of(total)
      local above = parts and usage.charges(parts, cost, settings).above
      if cost > total.capacity or above then return nil, 'too-costly', INF, nil, cost <= total.capacity and above or nil, total.key end
    end
    if not departs_at then return nil, place, retry_at, true, exceeded end
    local ahead = bucket.inRetry > 0 and 0 or bucket.waiting - bucket.grantedCost
    for _, total in ipairs(totals) do
      local late = next_slot(total, now) + total.interval * ahead - deadline
      if late > ROUNDING then return nil, 'deadline', now + late, true, nil, total.key end
    end
    local full, own, others = full_above(bucket, totals, cost)
    if full then return refused_at(bucket, totals, full, own, others, now) end
    for _, total in ipairs(totals) do
      if total.paused == 1 and deadline < INF then return nil, 'paused', now + total.interval, true, nil, total.key end
    end
    is_estimate = is_estimate or not family.is_alone(bucket, totals, now)
    return math.max(departs_at, departure_under(bucket, totals, now)), place, nil, is_estimate
  end

  -- A job has joined the line of the bucket: the largest use of a family is noted, and who had no work takes part. The next job of the
  -- call finds that; from when on each may go is said when the call ends.
  function family.join(bucket, job)
    family.sync(bucket)
    local child, name, above = bucket.member, bucket.key, bucket
    local has_work = bucket.isMoved
    for _, total in ipairs(family.totals_of(bucket)) do
      local parts, use = usage.of(total), job.cost
      if parts and #parts.quotas > 0 then use = family.use_by(total, parts, usage.charges(parts, job.cost, job.settings), job.cost) end
      total.largest = math.max(total.largest, use / child.weight)
      has_work = has_work and above.paused == 0
      if has_work and child.standing ~= IN then family.stand(total, child, name, time_read, above.frozen, function() return use end) end
      family.touch(total)
      child, name, above = total, total.key, total
    end
  end
end
