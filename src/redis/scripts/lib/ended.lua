-- Ending jobs.

-- Writes the number of jobs that a call ended, and forgets jobs that ended long ago. Every verb that ends jobs calls it last.
local function close_books(meta, keep, now)
  if meta.newlyEnded > 0 then
    redis.call('HINCRBY', K.meta, 'ended', meta.newlyEnded)
    redis.call('ZREM', K.deadlines, unpack(meta.endings.ids))
    redis.call('ZREM', K.leases, unpack(meta.endings.ids))
    if #meta.endings.jobs > 0 then redis.call('ZADD', K.ended, unpack(meta.endings.jobs)) end
    if #meta.endings.turns > 0 then redis.call('ZADD', K.gone, unpack(meta.endings.turns)) end
  end
  kept.remember(meta, keep, meta.toRemember, now)
  forget_ended(meta, keep, now)
  if meta.turnsEnded then trim_gone(now) end
end

local function end_job(meta, state, how, now)
  local of_turn = is_turn(state.id)
  state.state = how
  -- The worker that reported the start may have a clock that is ahead.
  state.endedAt = math.max(now, state.departedAt)
  -- The caller of a turn may settle it later, and hears what it was charged.
  if not of_turn then state.charged = false end
  write_state(state)
  meta.endings = meta.endings or { ids = {}, jobs = {}, turns = {} }
  local ends, n = of_turn and meta.endings.turns or meta.endings.jobs, meta.newlyEnded + 1
  ends[#ends + 1], ends[#ends + 2] = now + set_back(), state.id
  meta.endings.ids[n], meta.newlyEnded = state.id, n
  if of_turn then meta.turnsEnded = true else meta.toRemember[#meta.toRemember + 1] = state end
end
