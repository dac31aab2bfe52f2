-- How far the clock of the shard was set forward. Rolling quotas count by a clock without these steps: what they hold is kept with all
-- subtracted that the clock was set forward by before, so one number moves it in all buckets at once. Read where there are quotas.
-- of: forward

do
  local HEAD, STEP, STEP_BYTES = '<ddddds', '<dd', 16
  local MOST_REPORTERS = 4000
  -- So many steps are known one by one.
  local MOST_STEPS = 16
  -- Within this time a process that lived through a step reports it.
  local DOUBTED = 60000000
  local MOST_ENTRIES = 96
  -- What is left of both, and less than this, is an error of clocks.
  local SURE = 100000
  local known

  -- `steps`: `at` and `by`, the latest last, with its `reporters`; `before`: the sum of older ones; `doubt`: how long, since `doubtAt`,
  -- no call told whether time passed or the clock was set forward; `back`: by how much it was set back, at `backAt` the last time.
  local function read()
    if known then return known end
    local raw = redis.call('HGET', K.meta, 'forward')
    known = { before = 0, doubt = 0, doubtAt = 0, back = 0, backAt = 0, reporters = '', steps = {}, by = 0 }
    if not raw then return known end
    local ok, before, doubt, doubt_at, back, back_at, reporters, first = pcall(struct.unpack, HEAD, raw)
    if not ok or (#raw + 1 - first) % STEP_BYTES ~= 0 then foreign('meta') end
    known = { before = before, doubt = doubt, doubtAt = doubt_at, back = back, backAt = back_at, reporters = reporters, steps = {}, by = before }
    for place = first, #raw, STEP_BYTES do
      local at, by = struct.unpack(STEP, raw, place)
      known.steps[#known.steps + 1], known.by = { at = at, by = by }, known.by + by
    end
    return known
  end

  local function write()
    local packed = { struct.pack(HEAD, known.before, known.doubt, known.doubtAt, known.back, known.backAt, known.reporters) }
    for _, step in ipairs(known.steps) do packed[#packed + 1] = struct.pack(STEP, step.at, step.by) end
    redis.call('HSET', K.meta, 'forward', table.concat(packed))
  end

  -- Whether the last step is the one that `reporter` reports: two reports of one process are two steps.
  function forward.is_same(last, reporters, reporter, now)
    return last and math.abs(now - last.at) < SAME_STEP and #reporters < MOST_REPORTERS
      and not string.find(reporters, ' ' .. reporter .. ' ', 1, true)
  end

  -- By how much in all.
  function forward.by() return read().by end

  -- The time at which a start at `at` would have been by the present clock.
  function forward.present(at)
    local sum = at
    for _, step in ipairs(read().steps) do sum = sum + (step.at > at and step.by or 0) end
    return sum
  end

  local function doubt_at(now) return math.abs(now - read().doubtAt) < DOUBTED and known.doubt or 0 end

  -- For so long time may have passed without a call: perhaps the clock was set forward.
  function forward.doubt(meta, now, gap)
    if not meta.hasQuotas then return end
    local sum = doubt_at(now) + gap
    known.doubt, known.doubtAt = sum, now
    write()
  end

  -- The clock was set back. What counts is not moved, but held to what a start of now would count, which is after every step.
  function forward.set_back(meta, now, by)
    if not meta.hasQuotas then return end
    local is_recent = now + by - read().backAt < SAME_STEP
    for _, step in ipairs(known.steps) do step.at = math.min(step.at, now) end
    known.back, known.backAt = (is_recent and known.back or 0) + by, now
    write()
  end

  -- A process reports that the clock was moved, by up to `by`. It may have been set back and forward between two looks at it: then
  -- `by` is what is left of both. A long step was a silence as well: what several processes report of it counts once, however late.
  function forward.note(meta, now, by, reporter)
    if not meta.hasQuotas then return end
    local silence, last, own = doubt_at(now), known.steps[#known.steps], by
    local since_back = now - known.backAt - by
    if since_back < SAME_STEP or math.abs(since_back - known.back) < SAME_STEP then by = by + known.back end
    if own <= 0 and by < SURE then return end
    local is_same = forward.is_same(last, known.reporters, reporter, now)
    local raise = math.ceil(math.max(0, is_same and by - last.by or by))
    if by > 2 * SILENCE then raise = math.min(raise, math.max(silence, own <= 2 * SILENCE and own or 0)) end
    if is_same then last.by, known.reporters = last.by + raise, known.reporters .. ' ' .. reporter .. ' '
    elseif raise > 0 then known.steps[#known.steps + 1], known.reporters = { at = now, by = raise }, ' ' .. reporter .. ' ' end
    known.doubt, known.by = math.max(0, known.doubt - raise), known.by + raise
    if #known.steps > MOST_STEPS then known.before = known.before + table.remove(known.steps, 1).by end
    write()
  end

  -- For how long an entry that has ended is of use: a step that is not reported yet may bring it back.
  function forward.unsure(now)
    return SILENCE + doubt_at(now)
  end

  -- Forgets the entries of a quota that count no more, whatever is reported. Of too many, those that have ended are joined in pairs.
  function forward.forget(ends, used, now)
    local sure, index = now - forward.unsure(now), 1
    while ends[index] and ends[index] <= sure do index = index + 1 end
    for place = 1, index > 1 and #ends or 0 do
      ends[place], used[place] = ends[place + index - 1], used[place + index - 1]
    end
    index = 1
    while #ends > MOST_ENTRIES - index and ends[index + 1] and ends[index + 1] <= now do
      -- Those behind it move up as it is removed, so not in one statement.
      local joined = table.remove(used, index)
      used[index] = used[index] + joined
      table.remove(ends, index)
      index = index + 1
    end
  end
end
