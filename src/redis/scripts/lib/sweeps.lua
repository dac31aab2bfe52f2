-- The answer of the last sweep (`expire`, `recover`) of each process, so that a process that got no answer can ask for the same
-- sweep again and get the same answer.

-- The longest outage after which the answer is still there.
local REMEMBERED_MS = 600000

-- Jobs of one call: about three milliseconds.
local MOST_SWEPT = 75

-- The answer of that sweep, or nil. A request that was delayed on its way gets the answer of a later sweep; its caller has long
-- given up.
local function replayed_sweep(process, sweep)
  local kept = redis.call('GET', K.op .. process)
  if not kept then return nil end
  local last, answer = unpack(cmsgpack.unpack(kept))
  return number(last) >= number(sweep) and answer or nil
end

local function remember_sweep(process, sweep, answer)
  redis.call('SET', K.op .. process, cmsgpack.pack({ sweep, answer }), 'PX', REMEMBERED_MS)
end
