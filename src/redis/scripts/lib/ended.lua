-- Ending jobs, and forgetting ended jobs and empty buckets.

local MOST_IDLE_FORGOTTEN = 1000

-- A retried request can arrive this much later than the first one, and must still find the job.
local REPLAY_WINDOW = 10000000

-- Bytes. Freeing more in one script would delay other callers.
local MOST_FREED = 67108864

-- How many of these jobs can be forgotten in one script, by the size of their large data; at least one.
local function affordable(ids)
  local bytes = 0
  for index, id in ipairs(ids) do
    bytes = bytes + redis.call('HSTRLEN', K.data, id)
    if bytes > MOST_FREED and index > 1 then return index - 1 end
  end
  return #ids
end

local function trim(key, keep, now)
  local surplus = math.min(MOST_PER_CALL, redis.call('ZCARD', key) - keep)
  if surplus <= 0 then return end
  local ids = redis.call('ZRANGEBYSCORE', key, '-inf', now - REPLAY_WINDOW, 'LIMIT', 0, surplus)
  if #ids == 0 then return end
  if redis.call('TYPE', K.data).ok == 'hash' then
    local count = affordable(ids)
    redis.call('HDEL', K.data, unpack(ids, 1, count))
    if count < #ids then ids = { unpack(ids, 1, count) } end
  end
  redis.call('ZREM', key, unpack(ids))
  redis.call('HDEL', K.jobs, unpack(ids))
  redis.call('HDEL', K.states, unpack(ids))
end

-- Forgets all ended jobs but the last `keep`.
local function trim_ended(keep, now)
  trim(K.ended, keep, now)
end

-- No ended turn is kept, because nothing asks for it.
local function trim_gone(now)
  trim(K.gone, 0, now)
end

local function next_of(key, keep)
  if redis.call('ZCARD', key) <= keep then return INF end
  return tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]) + REPLAY_WINDOW
end

-- When there is something to forget, if no job ends meanwhile.
local function next_trim(keep)
  return math.min(next_of(K.ended, keep), next_of(K.gone, 0))
end

-- Writes the number of jobs that a call ended, and forgets jobs that ended long ago. Every verb that ends jobs calls it last.
local function close_books(meta, keep, now)
  if meta.newlyEnded > 0 then redis.call('HINCRBY', K.meta, 'ended', meta.newlyEnded) end
  trim_ended(keep, now)
  if meta.turnsEnded then trim_gone(now) end
end

local function end_job(meta, state, how, now)
  state.state = how
  -- The worker that reported the start may have a clock that is ahead.
  state.endedAt = math.max(now, state.departedAt)
  write_state(state)
  redis.call('ZREM', K.deadlines, state.id)
  redis.call('ZREM', K.leases, state.id)
  if is_turn(state.id) then meta.turnsEnded = true end
  redis.call('ZADD', is_turn(state.id) and K.gone or K.ended, now, state.id)
  meta.newlyEnded = meta.newlyEnded + 1
end

-- Forgets empty buckets whose state no longer affects a departure: fewer in a call that hands over `handed` jobs, each of which
-- takes as long as ten of them.
local function forget_idle(now, handed)
  local idle = redis.call('ZRANGEBYSCORE', K.idle, '-inf', now, 'LIMIT', 0, MOST_IDLE_FORGOTTEN - 9 * handed)
  if #idle == 0 then return end
  redis.call('HDEL', K.buckets, unpack(idle))
  redis.call('ZREM', K.idle, unpack(idle))
  redis.pcall('ZREM', K.fill, unpack(idle))
end
