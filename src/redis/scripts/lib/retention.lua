-- How long ended jobs are remembered, and forgetting them.

-- A retried request can arrive this much later than the first one, and must still find the job.
local REPLAY_WINDOW = 10000000

-- How many ended jobs are remembered: of each first segment at least the last `jobs`, and those that ended within `time`; of all
-- together `most` units, one for each job and one for each UNIT of its data and result.
local function read_keep(at)
  local jobs, time, most = string.match(ARGV[at] or '', '^(%d+) (%d+) (%d+)$')
  if not jobs then refuse_arguments() end
  return { jobs = tonumber(jobs), time = math.max(REPLAY_WINDOW, tonumber(time)), most = tonumber(most) }
end

-- These forget ended jobs; each is one local variable for the scripts, which have few left.
local forget_ended, trim_gone, next_trim
do
  -- Bytes. Freeing more in one script would delay other callers.
  local MOST_FREED = 67108864
  -- First segments that one call looks at.
  local MOST_SEGMENTS = 10
  -- Units that the segment with most gives up at once, though another has nearly as many.
  local SLICE = 20

  -- Beyond the last jobs of their segment, and old.
  local function forget_aged(meta, keep, now, room)
    for _, segment in ipairs(redis.call('ZRANGEBYSCORE', K.aging, '-inf', now, 'LIMIT', 0, MOST_SEGMENTS)) do
      if room.jobs <= 0 then return end
      local surplus = kept.count(segment) - keep.jobs
      kept.take_oldest(meta, segment, room, function(index, time) return index <= surplus and time <= now - keep.time end)
      local count, first = kept.count(segment)
      if count > keep.jobs then redis.call('ZADD', K.aging, first + keep.time, segment)
      else redis.call('ZREM', K.aging, segment) end
    end
  end

  -- More than all together may be: the segment that has most gives up its oldest, down to the next one.
  local function forget_surplus(meta, keep, now, room)
    for _ = 1, MOST_SEGMENTS do
      if meta.kept <= keep.most or room.jobs <= 0 then return end
      local largest = redis.call('ZREVRANGEBYSCORE', K.shares, '+inf', '-inf', 'WITHSCORES', 'LIMIT', 0, 2)
      if not largest[1] then return end
      local all, lead = meta.kept, tonumber(largest[2]) - tonumber(largest[4] or 0)
      local taken = kept.take_oldest(meta, largest[1], room, function(_, time, units)
        return all - units > keep.most and units <= math.max(lead, SLICE) and time <= now - REPLAY_WINDOW
      end)
      if taken == 0 then return end
    end
  end

  -- By a clock that is never set back: what ended before such a step would stay for longer by the step.
  function forget_ended(meta, keep, now)
    local before, room, age = meta.kept, { jobs = MOST_PER_CALL, bytes = MOST_FREED }, now + set_back()
    forget_aged(meta, keep, age, room)
    forget_surplus(meta, keep, age, room)
    if meta.kept ~= meta.keptBefore or before ~= meta.kept then redis.call('HSET', K.meta, 'kept', meta.kept) end
    meta.keptBefore = meta.kept
  end

  -- No ended turn is kept, because nothing asks for it.
  function trim_gone(now)
    kept.forget(K.gone, redis.call('ZRANGEBYSCORE', K.gone, '-inf', now + set_back() - REPLAY_WINDOW, 'LIMIT', 0, MOST_PER_CALL))
  end

  -- When there is something to forget, if no job ends meanwhile.
  function next_trim()
    local aging = redis.call('ZRANGE', K.aging, 0, 0, 'WITHSCORES')[2]
    local gone = redis.call('ZRANGE', K.gone, 0, 0, 'WITHSCORES')[2]
    return math.min(aging and tonumber(aging) or INF, gone and tonumber(gone) + REPLAY_WINDOW or INF) - set_back()
  end
end
