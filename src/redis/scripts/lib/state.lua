-- The changing part of a job: its state, attempts and result. A job that waits for the first time has no such record; later
-- records repeat the key and the cost, so that the job with its data need not be read again. While an attempt runs there is no
-- result, and what it was charged stands in its place: code that does not know that reads no result, and drops it.

-- In these states a worker holds the job, until its lease ends.
local HELD = { handed = true, granted = true, running = true }
-- Lua allows a script 200 local variables: what only these functions use is theirs.
local expect_states, read_state, record_of_state, write_state
do
  local STATE_FORMAT = '<HBdI4BddI4dBdBddssBI4c0BI4c0'
  local STATE_MAGIC = 0x5623

  local STATE_NUMBERS = {}
  for n, name in ipairs(STATES) do STATE_NUMBERS[name] = n end
  -- Where the job stands or came from; 'retry': sorted by time, 'back': before all others.
  local KINDS = { 'line', 'retry', 'back' }
  local KIND_NUMBERS = { line = 1, retry = 2, back = 3 }
  -- What stands in the place of the result.
  local RESULT, CHARGED = 1, 2

  -- A job with a lease was handed over and has a record; except a turn, which has a lease before. So where such a job has none, a
  -- part of the shard is missing.
  local function expect_state(id)
    if is_missing.states and not is_turn(id) and redis.call('ZSCORE', K.leases, id) then partial('states') end
  end

  -- The same for the jobs that a call names, one every `step` arguments from `first` on. Called before anything is written.
  function expect_states(first, step)
    if not is_missing.states then return end
    for at = first, #ARGV, step do expect_state(ARGV[at]) end
  end

  function read_state(id)
    local raw = redis.call('HGET', K.states, id)
    if not raw then
      expect_state(id)
      return { id = id, key = '', cost = 0, state = 'waiting', epoch = 0, kind = 'line', readyAt = -INF, floor = -INF, attempt = 0,
        fence = 0, crashes = 0, slot = 0, onGrid = false, isSettled = false, departedAt = -1, endedAt = -1, worker = '', result = false,
        charged = false, error = false }
    end
    local ok, magic, state, epoch, cost, kind, ready_at, floor, attempt, fence, crashes, slot, on_grid, departed_at, ended_at,
      worker, key, has_result, result, has_error, error_, stop = pcall(struct.unpack, STATE_FORMAT, raw)
    if not ok or magic ~= STATE_MAGIC or stop ~= #raw + 1 or not STATES[state] or not KINDS[kind] then foreign('states') end
    if kind == KIND_NUMBERS.retry then ready_at, floor = ready_at - set_back(), floor - set_back() end
    return { id = id, key = key, cost = cost, state = STATES[state], epoch = epoch, kind = KINDS[kind], readyAt = ready_at, floor = floor,
      attempt = attempt, fence = fence, crashes = crashes, slot = slot,
      -- Two bits: whether its slot is on the grid, and whether the attempt was settled.
      onGrid = on_grid % 2 == 1, isSettled = on_grid >= 2, departedAt = departed_at, endedAt = ended_at, worker = worker,
      result = has_result == RESULT and result, charged = has_result == CHARGED and result, error = has_error == 1 and error_ }
  end

  function record_of_state(s)
    local result, error_ = s.result or s.charged or '', s.error or ''
    local ready_at, floor = s.readyAt, s.floor
    if s.kind == 'retry' then ready_at, floor = ready_at + set_back(), floor + set_back() end
    return struct.pack(STATE_FORMAT, STATE_MAGIC, STATE_NUMBERS[s.state], s.epoch, s.cost,
      KIND_NUMBERS[s.kind], ready_at, floor, s.attempt, s.fence, s.crashes, s.slot, (s.onGrid and 1 or 0) + (s.isSettled and 2 or 0), s.departedAt,
      s.endedAt, s.worker, s.key, s.result and RESULT or s.charged and CHARGED or 0, #result, result, s.error and 1 or 0, #error_, error_)
  end

  function write_state(s)
    redis.call('HSET', K.states, s.id, record_of_state(s))
  end
end
