-- The records of a job: the part that stays, the part that moves, and how it ends.

-- Texts are last; of all texts only the result, the error and the data may hold a zero byte.
local JOB_FORMAT = '<HI4ddI4dss'
local JOB_MAGIC = 0x5602
local STATE_FORMAT = '<HBI4I4BddI4dBdBddssBI4c0BI4c0'
local STATE_MAGIC = 0x5603

-- granted: handed, with a slot. A job that waits for the first time has no record of its state; from then on the state
-- has the key and the cost, so that the job with its data need not be read again.
local STATES = {
  'waiting', 'handed', 'granted', 'running', 'retrying', 'completed', 'failed', 'cancelled', 'expired',
}
-- Where it stands or came from; 'retry': by time, 'back': before all others.
local KINDS = { 'line', 'retry', 'back' }
local STATE_NUMBERS, KIND_NUMBERS = {}, {}
for number_, name in ipairs(STATES) do STATE_NUMBERS[name] = number_ end
for number_, name in ipairs(KINDS) do KIND_NUMBERS[name] = number_ end

local function read_job(id)
  local raw = redis.call('HGET', K.jobs, id)
  if not raw then return nil end
  local ok, magic, cost, admitted_at, deadline, position, departs_at, key, settings, rest = pcall(struct.unpack, JOB_FORMAT, raw)
  if not ok or magic ~= JOB_MAGIC then foreign('jobs') end
  return {
    id = id, cost = cost, admittedAt = admitted_at, deadline = deadline, position = position, departsAt = departs_at,
    key = key, settings = settings, data = string.sub(raw, rest),
  }
end

local function write_job(job)
  redis.call('HSET', K.jobs, job.id, struct.pack(JOB_FORMAT, JOB_MAGIC, job.cost, job.admittedAt, job.deadline,
    job.position, job.departsAt, job.key, job.settings) .. job.data)
end

local function read_state(id)
  local raw = redis.call('HGET', K.states, id)
  local s = { id = id, key = '', cost = 0, state = 'waiting', epoch = 0, kind = 'line', readyAt = -INF, floor = -INF, attempt = 0,
    fence = 0, crashes = 0, slot = 0, onGrid = false, departedAt = -1, endedAt = -1, worker = '', result = false,
    error = false }
  if not raw then return s end
  local ok, magic, state, epoch, cost, kind, ready_at, floor, attempt, fence, crashes, slot, on_grid, departed_at, ended_at,
    worker, key, has_result, result, has_error, error_, stop = pcall(struct.unpack, STATE_FORMAT, raw)
  if not ok or magic ~= STATE_MAGIC or stop ~= #raw + 1 or not STATES[state] then foreign('states') end
  s.state, s.epoch, s.kind, s.readyAt, s.floor = STATES[state], epoch, KINDS[kind], ready_at, floor
  s.attempt, s.fence, s.crashes, s.slot, s.onGrid = attempt, fence, crashes, slot, on_grid == 1
  s.departedAt, s.endedAt, s.worker, s.key, s.cost = departed_at, ended_at, worker, key, cost
  if has_result == 1 then s.result = result end
  if has_error == 1 then s.error = error_ end
  return s
end

local function write_state(s)
  local result, error_ = s.result or '', s.error or ''
  redis.call('HSET', K.states, s.id, struct.pack(STATE_FORMAT, STATE_MAGIC, STATE_NUMBERS[s.state], s.epoch, s.cost,
    KIND_NUMBERS[s.kind], s.readyAt, s.floor, s.attempt, s.fence, s.crashes, s.slot, s.onGrid and 1 or 0, s.departedAt,
    s.endedAt, s.worker, s.key, s.result and 1 or 0, #result, result, s.error and 1 or 0, #error_, error_))
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

-- Forgets jobs that ended, but for the last `keep`.
local function trim_ended(keep, now)
  local surplus = math.min(200, redis.call('ZCARD', K.ended) - keep)
  if surplus <= 0 then return end
  local ids = redis.call('ZRANGEBYSCORE', K.ended, '-inf', now - REPLAY_WINDOW, 'LIMIT', 0, surplus)
  if #ids == 0 then return end
  redis.call('ZREM', K.ended, unpack(ids))
  redis.call('HDEL', K.jobs, unpack(ids))
  redis.call('HDEL', K.states, unpack(ids))
end

-- When there is something to forget, if nobody ends meanwhile.
local function next_trim(keep)
  if redis.call('ZCARD', K.ended) <= keep then return INF end
  return tonumber(redis.call('ZRANGE', K.ended, 0, 0, 'WITHSCORES')[2]) + REPLAY_WINDOW
end

-- Writes what a call counted, and forgets jobs that ended long ago: at the end of every verb that ends jobs.
local function close_books(meta, keep, now)
  if meta.newlyEnded then redis.call('HINCRBY', K.meta, 'ended', meta.newlyEnded) end
  trim_ended(keep, now)
end

local function end_job(meta, state, how, now)
  state.state = how
  state.endedAt = now
  write_state(state)
  redis.call('ZREM', K.deadlines, state.id)
  redis.call('ZREM', K.leases, state.id)
  redis.call('ZADD', K.ended, now, state.id)
  meta.newlyEnded = (meta.newlyEnded or 0) + 1
end
