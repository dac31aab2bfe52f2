-- Ending jobs, and forgetting empty buckets.

local MOST_IDLE_FORGOTTEN = 1000
-- So many of them have quotas, which are read before.
local MOST_IDLE_READ = 50

-- Writes the number of jobs that a call ended, and forgets jobs that ended long ago. Every verb that ends jobs calls it last.
local function close_books(meta, keep, now)
  if meta.newlyEnded > 0 then redis.call('HINCRBY', K.meta, 'ended', meta.newlyEnded) end
  for _, job in ipairs(meta.toRemember) do kept.remember(meta, keep, job.id, job.key, job.result, now) end
  forget_ended(meta, keep, now)
  if meta.turnsEnded then trim_gone(now) end
end

local function end_job(meta, state, how, now)
  state.state = how
  -- The worker that reported the start may have a clock that is ahead.
  state.endedAt = math.max(now, state.departedAt)
  write_state(state)
  redis.call('ZREM', K.deadlines, state.id)
  redis.call('ZREM', K.leases, state.id)
  if is_turn(state.id) then meta.turnsEnded = true else meta.toRemember[#meta.toRemember + 1] = state end
  redis.call('ZADD', is_turn(state.id) and K.gone or K.ended, now + set_back(), state.id)
  meta.newlyEnded = meta.newlyEnded + 1
end

local function counts_until(key, now)
  local bucket = read_bucket(key)
  return bucket and usage.forgettable_at(bucket) + forward.unsure(now) or now
end

-- Those of the idle buckets of which no quota may count any more, nor could if the clock proved to have been set forward. One that
-- may is put off; how long is not known before its limit is read.
local function without_remembered(idle, now)
  if forward.by() == 0 and forward.unsure(now) == SILENCE then return idle end
  local forgotten, looked = {}, 0
  for _, key in ipairs(idle) do
    if redis.call('HEXISTS', K.quotas, key) == 0 then forgotten[#forgotten + 1] = key
    elseif looked < MOST_IDLE_READ then
      looked = looked + 1
      local is_readable, until_ = pcall(counts_until, key, now)
      if not is_readable then until_ = now + UNREADABLE end
      if until_ <= now then forgotten[#forgotten + 1] = key else redis.call('ZADD', K.idle, until_, key) end
    end
  end
  return forgotten
end

-- Forgets empty buckets whose state no longer affects a departure: fewer in a call that hands over `handed` jobs, each of which
-- takes as long as ten of them.
local function forget_idle(meta, now, handed)
  local idle = redis.call('ZRANGEBYSCORE', K.idle, '-inf', now, 'LIMIT', 0, MOST_IDLE_FORGOTTEN - 9 * handed)
  if meta.hasQuotas and #idle > 0 then idle = without_remembered(idle, now) end
  if #idle == 0 then return end
  redis.call('HDEL', K.buckets, unpack(idle))
  if meta.hasQuotas then redis.call('HDEL', K.quotas, unpack(idle)) end
  redis.call('ZREM', K.idle, unpack(idle))
  redis.pcall('ZREM', K.fill, unpack(idle))
end
