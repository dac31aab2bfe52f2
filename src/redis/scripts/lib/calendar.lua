-- The periods of calendars, as src/core/calendar.ts has them. When the clocks of a time zone are set comes from processes, which know
-- time zones: `zones` holds it from a year ago until years from now, see scripts/zone-tables.ts.
-- of: quota

do
  -- Here times are seconds: all clocks are set at a full one.
  local HOUR, DAY = 3600, 86400
  -- What is needed at any time is the end of the next period.
  local LEAST_AHEAD = 14 * DAY
  local MOST_BYTES = 4096
  -- By zone, those of this call.
  local known = {}

  -- `since`: when the clock was set, and `offset`: by how much it is ahead of UTC from then on. Returns nil for what is not ours.
  local function parse(raw)
    local numbers, list = {}, #raw <= MOST_BYTES and string.match(raw, '^%w+ ([%d -]+)$')
    for word in string.gmatch(list or '', '%S+') do
      numbers[#numbers + 1] = tonumber(word)
    end
    if #numbers < 3 or #numbers % 2 == 0 then return nil end
    local zone = { from = numbers[1], until_ = numbers[2], since = { -INF }, offset = { numbers[3] } }
    local last, farthest = zone.from, numbers[3]
    for index = 4, #numbers, 2 do
      local at, offset = numbers[index], numbers[index + 1]
      if at <= last then return nil end
      zone.since[#zone.since + 1], zone.offset[#zone.offset + 1] = at, offset
      last, farthest = at, math.max(farthest, offset)
    end
    if zone.until_ <= last then return nil end
    for _, offset in ipairs(zone.offset) do
      if math.abs(offset) > DAY then return nil end
    end
    -- Behind its end no period ends too late.
    zone.since[#zone.since + 1], zone.offset[#zone.offset + 1] = zone.until_, farthest
    return zone
  end

  -- Reads what is known of the zone. Where that does not reach from before now until after now, stops the script and says so: the
  -- process writes it, and calls again. A script that skips what it cannot read leaves a note for all processes.
  function quota.expect_zone(name)
    if known[name] then return end
    local raw = redis.call('HGET', K.zones, name)
    local zone, now = raw and parse(raw), time_read and time_read / 1000000
    if not zone or now and (now < zone.from or now + LEAST_AHEAD > zone.until_) then
      quota.isZoneMissing = true
      -- A script that only reads may not write it.
      redis.pcall('HSET', K.meta, 'zone', name)
      error({ err = 'VR_CALENDAR ' .. string.format('%.0f', time_read or 0) .. ' ' .. name })
    end
    known[name] = zone
  end

  local function end_of_hour(zone, index, at)
    local hour = math.floor((at + zone.offset[index]) / HOUR)
    local last = at
    -- Where the clock is set back, an hour that it shows twice is one period.
    while math.floor((last + zone.offset[index]) / HOUR) == hour do
      local full, change = (hour + 1) * HOUR - zone.offset[index], zone.since[index + 1] or INF
      last = math.min(full, change)
      if last == change then index = index + 1 end
    end
    return last
  end

  local function end_of_days(zone, index, at, is_week)
    local day = math.floor((at + zone.offset[index]) / DAY)
    -- Where the clock is set back over midnight, the day that has begun goes on.
    if index > 1 then day = math.max(day, math.floor((zone.since[index] - 1 + zone.offset[index - 1]) / DAY)) end
    -- The first day of all was a Thursday.
    local shown = (is_week and day - (day + 3) % 7 + 7 or day + 1) * DAY
    while zone.since[index + 1] and shown >= zone.since[index + 1] + zone.offset[index] do index = index + 1 end
    -- A midnight that the clock leaves out is the moment when it is set.
    return math.max(zone.since[index], shown - zone.offset[index])
  end

  -- When the period ends in which `at` lies.
  function quota.end_of(part, at)
    local zone, index = known[part.zone], 1
    at = math.floor(at / 1000000)
    if at >= zone.until_ then quota.isBeyond = true end
    while zone.since[index + 1] and zone.since[index + 1] <= at do index = index + 1 end
    if part.period == 'hour' then return end_of_hour(zone, index, at) * 1000000 end
    return end_of_days(zone, index, at, part.period == 'week') * 1000000
  end
end
