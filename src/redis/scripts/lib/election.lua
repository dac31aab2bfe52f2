-- Of all schedulers one is elected, and hands over.

local LEADER_LEASE = 1500000
local LONG_SLEEP = 1000000

-- Returns the version of the rule book to which all buckets are held; and where another scheduler is elected, until when.
local function elect(scheduler, now)
  local elected = redis.call('HMGET', K.meta, 'leader', 'leaderUntil', 'retimed')
  local until_, retimed = counter(elected[2]), counter(elected[3])
  -- A lease that is further away than a lease can be is from before the clock was set back.
  if not elected[1] or elected[1] == scheduler or until_ <= now or until_ > now + LEADER_LEASE then return retimed end
  -- This scheduler's last wait, while it was elected, may have taken the marker meant for the elected one.
  if redis.call('LLEN', K.wake) == 0 then redis.call('LPUSH', K.wake, '1') end
  return retimed, until_
end

-- With nothing to do for long, the first scheduler that wakes may be elected. `next_`: when this one has something to do.
local function leads_until(next_, now)
  return next_ < now + LONG_SLEEP and now + LEADER_LEASE or now
end
