-- The records of a job: the part that stays, the part that moves, and how it ends.

local JOB_FIELDS = { 'schema', 'key', 'cost', 'admittedAt', 'deadline', 'settings', 'data', 'position', 'departsAt' }
local STATE_FIELDS = {
  'schema', 'state', 'epoch', 'kind', 'readyAt', 'floor', 'attempt', 'fence', 'crashes', 'worker', 'slot',
  'onGrid', 'departedAt', 'endedAt', 'result', 'error',
}

local function read_record(hash, id, fields, what)
  local raw = redis.call('HGET', hash, id)
  if not raw then return nil end
  local values = unpack_record(raw, #fields, what)
  local record = { id = id }
  for index, name in ipairs(fields) do record[name] = values[index] end
  return record
end

local function pack_record(record, fields)
  local values = {}
  for index, name in ipairs(fields) do values[index] = record[name] end
  return cmsgpack.pack(values)
end

local function read_job(id)
  return read_record(K.jobs, id, JOB_FIELDS, 'jobs')
end

-- waiting, handed, granted (handed, with a slot), running, retrying; completed, failed, cancelled, expired.
-- `kind`: where it stands or came from: 'line', 'retry' (by time) or 'back' (before all others).
local function read_state(id)
  return read_record(K.states, id, STATE_FIELDS, 'states') or {
    id = id, schema = SCHEMA, state = 'waiting', epoch = 0, kind = 'line', readyAt = -INF, floor = -INF, attempt = 0,
    fence = 0, crashes = 0, worker = '', slot = 0, onGrid = false, departedAt = -1, endedAt = -1, result = false, error = false,
  }
end

local function write_state(state)
  redis.call('HSET', K.states, state.id, pack_record(state, STATE_FIELDS))
end

local function member_of(job)
  if job.cost == 1 then return job.id end
  return job.id .. ' ' .. string.format('%d', job.cost)
end

local function parse_member(member)
  local id, cost = string.match(member, '^(%S+) (%d+)$')
  if id then return id, tonumber(cost) end
  return member, 1
end

-- A replay can come this much later than its request, and must still find the job.
local REPLAY_WINDOW = 10000000

-- Forgets jobs that ended, but for the last `keep`; a few at a time.
local function trim_ended(keep, now)
  for _ = 1, 4 do
    if redis.call('LLEN', K.ended) <= keep then return end
    local id = redis.call('LINDEX', K.ended, -1)
    local state = read_state(id)
    if state.endedAt > now - REPLAY_WINDOW and state.endedAt <= now then return end
    redis.call('RPOP', K.ended)
    redis.call('HDEL', K.jobs, id)
    redis.call('HDEL', K.states, id)
  end
end

local function end_job(job, state, how, now, keep)
  state.state = how
  state.endedAt = now
  write_state(state)
  if job.deadline ~= INF then redis.call('ZREM', K.deadlines, job.id) end
  redis.call('ZREM', K.leases, job.id)
  redis.call('LPUSH', K.ended, job.id)
  redis.call('HINCRBY', K.meta, 'ended', 1)
  trim_ended(keep, now)
end
