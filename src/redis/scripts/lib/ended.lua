-- Ending jobs.

-- Writes the number of jobs that a call ended, and forgets jobs that ended long ago. Every verb that ends jobs calls it last.
local function close_books(meta, keep, now)
  if meta.newlyEnded > 0 then redis.call('HINCRBY', K.meta, 'ended', meta.newlyEnded) end
  for _, job in ipairs(meta.toRemember) do kept.remember(meta, keep, job.id, job.key, job.result, now) end
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
  redis.call('ZREM', K.deadlines, state.id)
  redis.call('ZREM', K.leases, state.id)
  if of_turn then meta.turnsEnded = true else meta.toRemember[#meta.toRemember + 1] = state end
  redis.call('ZADD', of_turn and K.gone or K.ended, now + set_back(), state.id)
  meta.newlyEnded = meta.newlyEnded + 1
end
