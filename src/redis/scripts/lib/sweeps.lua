-- What a process was told by its last sweep. Where it got no answer it asks for the same sweep again, and is told what it would
-- have been told.

-- As long as an outage may last after which it is still told.
local REMEMBERED_MS = 600000

-- The answer of that sweep; or of a later one, to a request that was late on its way, and for whose answer nobody waits.
local function replayed_sweep(process, sweep)
  local told = redis.call('GET', K.op .. process)
  if not told then return nil end
  local last, answer = unpack(cmsgpack.unpack(told))
  return number(last) >= number(sweep) and answer or nil
end

local function remember_sweep(process, sweep, answer)
  redis.call('SET', K.op .. process, cmsgpack.pack({ sweep, answer }), 'PX', REMEMBERED_MS)
end
