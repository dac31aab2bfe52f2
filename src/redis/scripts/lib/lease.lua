-- Leases: until when a job belongs to its worker, and a turn's place to its caller.

-- After a restart of Redis, workers reconnect and renew their leases within this time.
local RESTART_GRACE = 5000000

-- So much of each silence counts for leases, so that they end even where calls are always that far apart.
local LEAST_PASSING = 500000
-- `heardAt` is written at most this often, because each write costs.
local HEARD_EACH = 200000

-- A lease is kept as its end minus `meta.lifted`: so one number moves the ends of all leases at once.
local function hold_lease(meta, id, until_)
  redis.call('ZADD', K.leases, until_ - meta.lifted, id)
end

-- When the lease ends; nil: there is none.
local function lease_end(meta, id)
  local score = redis.call('ZSCORE', K.leases, id)
  return score and tonumber(score) + meta.lifted
end

-- From now on, claims go through all buckets: see rewind.lua.
local function begin_rewind(meta)
  meta.rewind = '0'
  redis.call('HSET', K.meta, 'rewind', '0')
end

-- Since the last call of a scheduler or worker jobs may have been admitted, and then the clock may have been set back by less than the
-- time since: then they are too far ahead.
local function doubt_times(meta, now)
  if now - meta.heardAt <= SILENCE then return end
  for _, name in ipairs({ 'due', 'turns' }) do
    -- A foreign value is found by what needs the value.
    local far = redis.pcall('ZCOUNT', K[name], now + SILENCE, '+inf')
    if type(far) == 'number' and far > 0 then begin_rewind(meta) end
  end
end

-- Notes a call of a scheduler or worker. Time passes for leases only while there are such calls: after a silence, in which Redis
-- may have been out of reach, every lease is extended by the length of the silence. Where the clock was set back, leases and
-- freezes are moved back with it, and losses and moves of the clock. `grace`: an extra extension, for workers that have to reconnect.
local function note_activity(meta, now, grace)
  local gap = now - meta.heardAt
  doubt_times(meta, now)
  if meta.heardAt ~= 0 and gap > SILENCE then forward.doubt(meta, now, gap) end
  if meta.heardAt ~= 0 and (grace or gap > SILENCE or gap < 0) then
    local lift = gap + (grace or 0)
    if gap > SILENCE and not grace then lift = gap - LEAST_PASSING end
    meta.lifted = meta.lifted + lift
    redis.call('HSET', K.meta, 'lifted', meta.lifted)
    if gap < 0 then
      note_set_back(-gap)
      forward.set_back(meta, now, -gap)
      begin_rewind(meta)
      -- What was noted before counts as noted now: in the future it would mean nothing, until that time comes again.
      meta.lostAt, meta.quarantine = math.min(meta.lostAt, now), math.min(meta.quarantine, now)
      redis.call('HSET', K.meta, 'lostAt', meta.lostAt, 'quarantine', meta.quarantine)
      local steps = loss.steps(meta, now)
      for _, step in ipairs(steps) do step.at = math.min(step.at, now) end
      loss.write_steps(meta, steps)
    end
  end
  if gap < 0 or gap > HEARD_EACH then
    meta.heardAt = now
    redis.call('HSET', K.meta, 'heardAt', now)
  end
end

-- Looks at the clock in a call that is none of a scheduler or worker. A total stands where the first below it does: what the call does to
-- that may hide that another one is too far ahead.
local function heed_clock(meta, now)
  if now < meta.heardAt then note_activity(meta, now) elseif meta.hasTotals then doubt_times(meta, now) end
end

-- Notices a restart or failover, which may have lost the latest starts; each may have cost as much as the costliest job so far. It
-- may have lost deliveries, too: what was handed over before, under epochs up to this one, goes back to its line: see recover.lua.
-- A shard without the name by which the caller knows it has lost everything, whatever was put into it since.
local function guard_run(meta, now, known)
  if known ~= '' and meta.name ~= known then loss.note(meta, now) end
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
  if run == meta.run then return note_activity(meta, now) end
  if meta.run ~= '' then loss.note(meta, now, math.max(1, meta.costliest)) end
  if meta.run ~= '' then
    meta.resend = string.format('0 %d', meta.epoch)
    redis.call('HSET', K.meta, 'resend', meta.resend)
  end
  -- Another server has another order of scanning.
  if meta.rewind ~= '' then begin_rewind(meta) end
  note_activity(meta, now, meta.run ~= '' and RESTART_GRACE)
  redis.call('HSET', K.meta, 'run', run)
end
