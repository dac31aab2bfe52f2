-- Until when jobs belong to those who hold them, and when nobody was heard.

-- Workers that Redis was away from find it again, and renew, within this time.
local RESTART_GRACE = 5000000

-- A scheduler claims at least each 1.5 s, and a worker renews within a third of its lease: without any of their calls for
-- longer than this, nobody could renew.
local SILENCE = 2000000
-- Of each silence so much passes for leases, so that they end also where every call is that far from the next.
local LEAST_PASSING = 500000
-- How exactly it is known when somebody was heard: writing it down costs.
local HEARD_EACH = 200000

-- Leases are kept as their end less all that they were lifted by: one number moves the ends of all of them at once.
local function hold_lease(meta, id, until_)
  redis.call('ZADD', K.leases, until_ - meta.lifted, id)
end

-- When the lease ends; nil: there is none.
local function lease_end(meta, id)
  local score = redis.call('ZSCORE', K.leases, id)
  return score and tonumber(score) + meta.lifted
end

-- Claims go through all buckets from here on, see rewind.lua.
local function begin_rewind(meta)
  meta.rewind = '0'
  redis.call('HSET', K.meta, 'rewind', '0')
end

-- Time passes for leases only while schedulers or workers are heard. After a silence Redis may have been out of reach of all
-- of them, so no worker could renew, and every lease is lifted by what the silence lasted; where the clock was set back,
-- all of them go back with it, and so do freezes. `grace`: beyond that, for workers that have to find Redis again.
local function note_activity(meta, now, grace)
  local gap = now - meta.heardAt
  if meta.heardAt ~= 0 and (grace or gap > SILENCE or gap < 0) then
    local lift = gap + (grace or 0)
    if gap > SILENCE and not grace then lift = gap - LEAST_PASSING end
    meta.lifted = meta.lifted + lift
    redis.call('HSET', K.meta, 'lifted', meta.lifted)
    if gap < 0 then
      note_set_back(-gap)
      begin_rewind(meta)
    end
  end
  if gap < 0 or gap > HEARD_EACH then
    meta.heardAt = now
    redis.call('HSET', K.meta, 'heardAt', now)
  end
end

-- A restart or a failover may have lost the latest starts. Each may have cost as much as the costliest job so far. And a shard
-- that has not the name by which the caller knows it has lost all, whatever was put into it since.
local function guard_run(meta, now, known)
  if known ~= '' and meta.name ~= known then note_loss(meta, now, ANY_COST) end
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)') or ''
  if run == meta.run then return note_activity(meta, now) end
  if meta.run ~= '' then note_loss(meta, now, math.max(1, meta.costliest)) end
  -- Each server has an order of its own.
  if meta.rewind ~= '' then begin_rewind(meta) end
  note_activity(meta, now, meta.run ~= '' and RESTART_GRACE)
  redis.call('HSET', K.meta, 'run', run)
end
