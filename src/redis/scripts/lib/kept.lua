-- The lists of ended jobs that are remembered, one for each first segment of keys: each entry has an id, when the job ended (with
-- `set_back`), its units and bytes.

-- One local variable for the scripts, which have few left.
local kept = {}
do
  local UNIT = 4096
  -- A call forgets about as many as have ended with it: so many are read at once.
  local PAGE = 20
  -- Asked once for all jobs that a call ends.
  local has_data

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

  -- Notes a job that ended, last of its first segment. A foreign value under the name of the list must not stop the line.
  function kept.remember(meta, keep, id, key, result, now)
    if has_data == nil then has_data = redis.call('TYPE', K.data).ok == 'hash' end
    local bytes = (has_data and redis.call('HSTRLEN', K.data, id) or 0) + (result and #result or 0)
    local units, segment = 1 + math.floor(bytes / UNIT), string.match(key, '^[^/]*')
    local length = redis.pcall('RPUSH', list_of(segment), string.format('%s %d %d %d', id, now + set_back(), units, bytes))
    if type(length) ~= 'number' then return end
    redis.pcall('ZINCRBY', K.shares, units, segment)
    meta.kept = meta.kept + units
    if length <= keep.jobs or redis.call('ZSCORE', K.aging, segment) then return end
    local first = first_end(list_of(segment))
    if first then redis.call('ZADD', K.aging, first + keep.time, segment) end
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
