-- What a call writes at its end: a command costs more than its arguments do, so one command writes many of a kind.

-- Buckets in order and by key, states by id, records of these, leases, and jobs whose deadlines count no more.
local later = { buckets = {}, states = {}, records = {}, leases = {}, inTime = {} }

-- Schedules buckets, which are written afterwards. `isOff`: the next start or return of one of its jobs schedules it.
local function schedule_all(buckets, meta)
  local dues = { left = {}, idle = {} }
  for _, bucket in ipairs(buckets) do
    if bucket.isOff then unschedule_due(bucket, dues) else schedule(bucket, meta, dues) end
  end
  if #dues > 0 then redis.call('ZADD', K.due, unpack(dues)) end
  if #dues.left > 0 then redis.call('ZREM', K.due, unpack(dues.left)) end
  if #dues.idle > 0 then redis.call('ZADD', K.idle, unpack(dues.idle)) end
end

-- The bucket is written at the end; the totals above it count it at once.
function later.write(bucket)
  if bucket.member or bucket.before then family.sync(bucket) end
  if later.buckets[bucket.key] then return end
  if bucket.isUseChanged then usage.expect_packing(bucket) end
  later.buckets[bucket.key], later.buckets[#later.buckets + 1] = bucket, bucket
end

-- The same, and it is scheduled; below totals at once, since that may change which child is next.
function later.reschedule(bucket, meta)
  if not bucket.member and not bucket.before then bucket.isMoved = true
  elseif bucket.isOff then unschedule_due(bucket)
  else schedule(bucket, meta) end
  later.write(bucket)
end

function later.write_state(state)
  local n = #later.records
  later.states[state.id], later.records[n + 1], later.records[n + 2] = state, state.id, record_of_state(state)
end

function later.hold_lease(meta, id, until_)
  local n = #later.leases
  later.leases[n + 1], later.leases[n + 2] = until_ - meta.lifted, id
end

-- Writes what there is. Called before anything else writes, or reads, what may be among it.
function later.flush(meta)
  local buckets, records, leases, in_time, moved = later.buckets, later.records, later.leases, later.inTime, {}
  later.buckets, later.states, later.records, later.leases, later.inTime = {}, {}, {}, {}, {}
  if #records > 0 then redis.call('HSET', K.states, unpack(records)) end
  if #leases > 0 then redis.call('ZADD', K.leases, unpack(leases)) end
  if #in_time > 0 then redis.call('ZREM', K.deadlines, unpack(in_time)) end
  for _, bucket in ipairs(buckets) do
    if bucket.isMoved then moved[#moved + 1] = bucket end
  end
  schedule_all(moved, meta)
  if #buckets > 0 then write_buckets(buckets) end
end

-- What `act` does is written also where an error ends it.
function later.write_after(meta, act)
  local is_done, problem = pcall(act)
  later.flush(meta)
  -- Depends on the version of Redis.
  if not is_done then error({ err = type(problem) == 'table' and problem.err or tostring(problem) }) end
end
