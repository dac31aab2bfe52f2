-- How long ended jobs are remembered, and forgetting them.

-- A retried request can arrive this much later than the first one, and must still find the job.
local REPLAY_WINDOW = 10000000

-- How many ended jobs are remembered: of each first segment at least the last `jobs`, and those that ended within `time`; of all
-- together `most` units, one for each job and one for each UNIT of its data and result.
local function read_keep(at)
  local jobs, time, most = string.match(ARGV[at], '^(%d+) (%d+) (%d+)$')
  if not jobs then refuse_arguments() end
  return { jobs = tonumber(jobs), time = math.max(REPLAY_WINDOW, tonumber(time)), most = tonumber(most) }
end

-- These forget ended jobs; each is one local variable for the scripts, which have few left.
local forget_ended, trim_gone, next_trim, remember
do
  local UNIT = 4096
  -- Bytes. Freeing more in one script would delay other callers.
  local MOST_FREED = 67108864
  -- First segments that one call looks at.
  local MOST_SEGMENTS = 10

  local function list_of(segment)
    return K.kept .. redis.sha1hex(segment)
  end

  local function forget(key, ids)
    if #ids == 0 then return end
    redis.call('ZREM', key, unpack(ids))
    redis.call('HDEL', K.jobs, unpack(ids))
    redis.call('HDEL', K.states, unpack(ids))
  end

  -- Notes a job that ended, last of its first segment. A foreign value under the name of the list must not stop the line.
  function remember(meta, keep, id, key, result, now)
    local has_data = redis.call('TYPE', K.data).ok == 'hash'
    local bytes = (has_data and redis.call('HSTRLEN', K.data, id) or 0) + (result and #result or 0)
    local units, segment = 1 + math.floor(bytes / UNIT), string.match(key, '^[^/]*')
    local length = redis.pcall('RPUSH', list_of(segment), string.format('%s %d %d %d', id, now, units, bytes))
    if type(length) ~= 'number' then return end
    redis.pcall('ZINCRBY', K.shares, units, segment)
    meta.kept = meta.kept + units
    if length > keep.jobs and not redis.call('ZSCORE', K.aging, segment) then
      local first = string.match(redis.call('LINDEX', list_of(segment), 0), ' (%d+) %d+ %d+$')
      redis.call('ZADD', K.aging, tonumber(first) + keep.time, segment)
    end
  end

  -- Takes the oldest of a segment out of its list while `is_due` (of their number among all, time and units) says so.
  local function take_oldest(meta, segment, room, is_due)
    local list, taken, units_taken, gone = list_of(segment), {}, 0, {}
    for index, entry in ipairs(redis.call('LRANGE', list, 0, room.jobs - 1)) do
      local id, time, units, bytes = string.match(entry, '^(%S+) (%d+) (%d+) (%d+)$')
      if not id then foreign('kept') end
      if room.bytes <= 0 or not is_due(index, tonumber(time), units_taken) then break end
      taken[index], units_taken = id, units_taken + tonumber(units)
      room.bytes = room.bytes - tonumber(bytes)
      if tonumber(bytes) > 0 then gone[#gone + 1] = id end
    end
    room.jobs = room.jobs - #taken
    if #taken == 0 then return 0 end
    if #gone > 0 and redis.call('TYPE', K.data).ok == 'hash' then redis.call('HDEL', K.data, unpack(gone)) end
    forget(K.ended, taken)
    redis.call('LTRIM', list, #taken, -1)
    meta.kept = math.max(0, meta.kept - units_taken)
    if redis.call('EXISTS', list) == 0 then redis.call('ZREM', K.shares, segment)
    else redis.call('ZINCRBY', K.shares, -units_taken, segment) end
    return #taken
  end

  -- Beyond the last jobs of their segment, and old.
  local function forget_aged(meta, keep, now, room)
    for _, segment in ipairs(redis.call('ZRANGEBYSCORE', K.aging, '-inf', now, 'LIMIT', 0, MOST_SEGMENTS)) do
      local list = list_of(segment)
      local surplus = redis.call('LLEN', list) - keep.jobs
      surplus = surplus - take_oldest(meta, segment, room, function(index, time) return index <= surplus and time <= now - keep.time end)
      local first = surplus > 0 and redis.call('LINDEX', list, 0)
      if first then redis.call('ZADD', K.aging, tonumber(string.match(first, ' (%d+) %d+ %d+$')) + keep.time, segment)
      else redis.call('ZREM', K.aging, segment) end
    end
  end

  -- More than all together may be: the segment that has most gives up its oldest, down to the next one.
  local function forget_surplus(meta, keep, now, room)
    for _ = 1, MOST_SEGMENTS do
      if meta.kept <= keep.most or room.jobs == 0 then return end
      local largest = redis.call('ZREVRANGEBYSCORE', K.shares, '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 2)
      if not largest[1] then return end
      local all, lead = meta.kept, tonumber(largest[2]) - tonumber(largest[4] or 0)
      local taken = take_oldest(meta, largest[1], room, function(_, time, units)
        return all - units > keep.most and units <= lead and time <= now - REPLAY_WINDOW
      end)
      if taken == 0 then return end
    end
  end

  function forget_ended(meta, keep, now)
    local before, room = meta.kept, { jobs = MOST_PER_CALL, bytes = MOST_FREED }
    forget_aged(meta, keep, now, room)
    forget_surplus(meta, keep, now, room)
    if meta.kept ~= meta.keptBefore or before ~= meta.kept then redis.call('HSET', K.meta, 'kept', meta.kept) end
    meta.keptBefore = meta.kept
  end

  -- No ended turn is kept, because nothing asks for it.
  function trim_gone(now)
    forget(K.gone, redis.call('ZRANGEBYSCORE', K.gone, '-inf', now - REPLAY_WINDOW, 'LIMIT', 0, MOST_PER_CALL))
  end

  -- When there is something to forget, if no job ends meanwhile.
  function next_trim()
    local aging = redis.call('ZRANGE', K.aging, 0, 0, 'WITHSCORES')[2]
    local gone = redis.call('ZRANGE', K.gone, 0, 0, 'WITHSCORES')[2]
    return math.min(aging and tonumber(aging) or INF, gone and tonumber(gone) + REPLAY_WINDOW or INF)
  end
end
