-- What a call writes at its end: a command costs more than its arguments do, so one command writes many of a kind.

-- Buckets in order and by key, records of states, and leases.
local later = { buckets = {}, states = {}, leases = {} }

-- Schedules and writes buckets, each once. `isOff`: the next start or return of one of its jobs schedules it.
local function reschedule_all(buckets, meta)
  local dues = { left = {}, idle = {} }
  for _, bucket in ipairs(buckets) do
    if bucket.isOff then unschedule_due(bucket, dues) else schedule(bucket, meta, dues) end
  end
  if #dues > 0 then redis.call('ZADD', K.due, unpack(dues)) end
  if #dues.left > 0 then redis.call('ZREM', K.due, unpack(dues.left)) end
  if #dues.idle > 0 then redis.call('ZADD', K.idle, unpack(dues.idle)) end
  if #buckets > 0 then write_buckets(buckets) end
end

-- The bucket is scheduled and written at the end; below totals at once, since which child is next depends on the records of all.
function later.reschedule(bucket, meta)
  if bucket.member or bucket.before then
    if bucket.isOff then unschedule_due(bucket) else schedule(bucket, meta) end
    write_bucket(bucket)
  elseif not later.buckets[bucket.key] then
    later.buckets[bucket.key], later.buckets[#later.buckets + 1] = bucket, bucket
  end
end

-- The job was handed over.
function later.hold(meta, state, until_)
  local n = #later.states
  later.states[n + 1], later.states[n + 2] = state.id, record_of_state(state)
  later.leases[n + 1], later.leases[n + 2] = until_ - meta.lifted, state.id
end

-- What `act` does is written also where an error ends it.
function later.write_after(meta, act)
  local is_done, problem = pcall(act)
  local buckets, states, leases = later.buckets, later.states, later.leases
  later.buckets, later.states, later.leases = {}, {}, {}
  if #states > 0 then
    redis.call('HSET', K.states, unpack(states))
    redis.call('ZADD', K.leases, unpack(leases))
  end
  reschedule_all(buckets, meta)
  -- Depends on the version of Redis.
  if not is_done then error({ err = type(problem) == 'table' and problem.err or tostring(problem) }) end
end
