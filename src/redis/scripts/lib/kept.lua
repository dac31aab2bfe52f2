-- The lists of ended jobs that are remembered, one for each first segment of keys: each entry has an id, when the job ended (with
-- `set_back`), its units and bytes.

-- One local variable for the scripts, which have few left.
local kept = {}
do
  local UNIT = 4096
  -- A call forgets about as many as have ended with it: so many are read at once.
  local PAGE = 20

  local lists = {}

  local function list_of(segment)
    lists[segment] = lists[segment] or K.kept .. redis.sha1hex(segment)
    return lists[segment]
  end

  function kept.forget(key, ids)
    if #ids == 0 then return end
    redis.call('ZREM', key, unpack(ids))
    redis.call('HDEL', K.jobs, unpack(ids))
    redis.call('HDEL', K.states, unpack(ids))
  end

  -- When the oldest of a list ended; nil: it is not ours.
  local function first_end(list)
    local first = redis.call('TYPE', list).ok == 'list' and redis.call('LINDEX', list, 0)
    return first and tonumber(string.match(first, '^%S+ (%d+) %d+ %d+$'))
  end

  -- How many of the segment are remembered, and when the oldest of them ended; 0: the list is not ours.
  function kept.count(segment)
    local list = list_of(segment)
    local first = first_end(list)
    if not first then return 0 end
    return redis.call('LLEN', list), first
  end

  -- Notes jobs that ended, each last of its first segment. A foreign value under the name of a list must not stop the line.
  function kept.remember(meta, keep, jobs, now)
    if #jobs == 0 then return end
    local has_data, segments = redis.call('TYPE', K.data).ok == 'hash', {}
    for _, job in ipairs(jobs) do
      local bytes = (has_data and redis.call('HSTRLEN', K.data, job.id) or 0) + (job.result and #job.result or 0)
      local units, segment = 1 + math.floor(bytes / UNIT), string.match(job.key, '^[^/]*')
      local entries = segments[segment]
      if not entries then
        entries = { units = 0 }
        segments[segment], segments[#segments + 1] = entries, segment
      end
      entries[#entries + 1] = string.format('%s %d %d %d', job.id, now + set_back(), units, bytes)
      entries.units = entries.units + units
    end
    for _, segment in ipairs(segments) do
      local entries = segments[segment]
      local length = redis.pcall('RPUSH', list_of(segment), unpack(entries))
      if type(length) == 'number' then
        redis.pcall('ZINCRBY', K.shares, entries.units, segment)
        meta.kept = meta.kept + entries.units
        local first = length > keep.jobs and not redis.call('ZSCORE', K.aging, segment) and first_end(list_of(segment))
        if first then redis.call('ZADD', K.aging, first + keep.time, segment) end
      end
    end
  end

  -- A list that is not ours any more must not stop the line: its jobs are not forgotten.
  local function give_up(meta, segment)
    meta.kept = math.max(0, meta.kept - (tonumber(redis.call('ZSCORE', K.shares, segment) or 0)))
    redis.call('ZREM', K.shares, segment)
    redis.call('ZREM', K.aging, segment)
  end

  -- Takes the oldest of a segment out of its list while `is_due` (of their number among all, time and units) says so.
  function kept.take_oldest(meta, segment, room, is_due)
    local list, taken, units_taken, gone = list_of(segment), {}, 0, {}
    if room.jobs <= 0 then return 0 end
    if not first_end(list) then
      give_up(meta, segment)
      return 0
    end
    local index, entries = 0, {}
    while index < room.jobs do
      local place = index % PAGE
      if place == 0 then entries = redis.call('LRANGE', list, index, math.min(index + PAGE, room.jobs) - 1) end
      local id, time, units, bytes = string.match(entries[place + 1] or '', '^(%S+) (%d+) (%d+) (%d+)$')
      if not id or room.bytes <= 0 or not is_due(index + 1, tonumber(time), units_taken) then break end
      index = index + 1
      taken[index], units_taken = id, units_taken + tonumber(units)
      room.bytes = room.bytes - tonumber(bytes)
      if tonumber(bytes) > 0 then gone[#gone + 1] = id end
    end
    room.jobs = room.jobs - #taken
    if #taken == 0 then return 0 end
    if #gone > 0 and redis.call('TYPE', K.data).ok == 'hash' then redis.call('HDEL', K.data, unpack(gone)) end
    kept.forget(K.ended, taken)
    redis.call('LTRIM', list, #taken, -1)
    meta.kept = math.max(0, meta.kept - units_taken)
    if redis.call('EXISTS', list) == 0 then redis.call('ZREM', K.shares, segment)
    else redis.call('ZINCRBY', K.shares, -units_taken, segment) end
    return #taken
  end
end
