-- What a shard has lost: its last starts, or their times by the present clock.
-- of: loss

do
  -- The cost of a loss counts for later losses, and a step of the clock is remembered, for this long.
  local REMEMBERED = 86400000000

  -- No loss reaches back so far, and no clock of a server that takes over is so far behind.
  local LONGEST_LOSS = 3600000000

  -- More than any limit admits.
  local ANY_COST = 9007199254740992

  -- A stamp above all that were lost: none of those was further ahead of the clock than a loss may reach back, also after earlier losses,
  -- since fewer than one is given out in a microsecond. A stamp that is further ahead shows that the clock was set back.
  local function above_lost(meta, stamp, now)
    local least = math.floor(now) + LONGEST_LOSS
    if stamp <= least then return least end
    return stamp + LONGEST_LOSS + (meta.lostAt > 0 and math.max(0, math.floor(now - meta.lostAt)) or 0)
  end

  -- The last starts may be lost: in each bucket, a job of up to this cost, by default of any, may have started just now.
  function loss.note(meta, now, cost)
    cost = cost or ANY_COST
    meta.fence, meta.epoch = above_lost(meta, meta.fence, now), above_lost(meta, meta.epoch, now)
    redis.call('HSET', K.meta, 'fence', meta.fence, 'epoch', meta.epoch)
    if math.abs(now - meta.lostAt) < REMEMBERED then cost = math.max(cost, meta.lostCost) end
    meta.lostAt, meta.lostCost = now, cost
    redis.call('HSET', K.meta, 'lostAt', now, 'lostCost', cost)
  end

  -- After a jump of the clock.
  function loss.note_jump(meta, now)
    meta.quarantine = now
    redis.call('HSET', K.meta, 'quarantine', now)
  end

  local STEP_FORMAT, STEP_BYTES = '<dd', 16

  -- When the clock was set forward, and by how much: `at` and `by`, the latest last, without those of long ago.
  function loss.steps(meta, now)
    local steps = {}
    for place = 1, #meta.steps, STEP_BYTES do
      local at, by = struct.unpack(STEP_FORMAT, meta.steps, place)
      if math.abs(now - at) < REMEMBERED then steps[#steps + 1] = { at = at, by = by } end
    end
    return steps
  end

  function loss.write_steps(meta, steps)
    local packed = {}
    for index, step in ipairs(steps) do packed[index] = struct.pack(STEP_FORMAT, step.at, step.by) end
    meta.steps = table.concat(packed)
    redis.call('HSET', K.meta, 'steps', meta.steps)
  end

  function loss.stepped_since(steps, since)
    local sum = 0
    for _, step in ipairs(steps) do
      if step.at > since then sum = sum + step.by end
    end
    return sum
  end

  -- The clock was set forward by up to `by`: earlier starts are more recent than they look, by that much. Two reports of one
  -- process are two steps; reports of several processes within SAME_STEP are one.
  function loss.note_step(meta, now, by, reporter)
    -- So many steps are remembered one by one; one more counts as a jump.
    local MOST_STEPS = 16
    local steps, name = loss.steps(meta, now), ' ' .. reporter .. ' '
    local last = steps[#steps]
    local is_reported = forward.is_same(last, meta.stepTellers, reporter, now)
    if is_reported then last.at, last.by = now, math.max(last.by, by) else steps[#steps + 1] = { at = now, by = by } end
    if #steps > MOST_STEPS then
      loss.note_jump(meta, now)
      steps = {}
    end
    loss.write_steps(meta, steps)
    redis.call('HSET', K.meta, 'stepTellers', is_reported and meta.stepTellers .. name or name)
  end

  -- When the last of some steps was.
  function loss.last_step_at(meta)
    return (struct.unpack('<d', meta.steps, #meta.steps - STEP_BYTES + 1))
  end
end
