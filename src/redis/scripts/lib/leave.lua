-- How a job leaves a line without a handler, and how jobs that were handed over come back.

local WAITS = { waiting = true, retrying = true, handed = true }

-- Removes a waiting job from wherever it stands, and subtracts its units.
local function leave(bucket, job, state)
  local member = member_of(job)
  if state.state == 'handed' then
    redis.call('LREM', K.handed .. bucket.suffix, 1, member)
    usage.count_handed(bucket, state.epoch, -job.cost)
    bucket.inHanded = bucket.inHanded - 1
    if bucket.member then family.hand(bucket, job.id, job.cost, -1) end
  elseif state.kind == 'line' then
    local has_left = pull(bucket, job.block, member)
    if has_left and is_turn(member) then bucket.turns = bucket.turns - 1 end
  else
    redis.call('ZREM', K[state.kind] .. bucket.suffix, member)
    local count = state.kind == 'retry' and 'inRetry' or 'inBack'
    bucket[count] = bucket[count] - 1
    count_returned(bucket, state.kind, -job.cost)
  end
  bucket.waiting = bucket.waiting - job.cost
  usage.count(bucket, job.settings, -1)
end

-- The job ends while it waits.
local function end_waiting(bucket, meta, job, state, how, now)
  leave(bucket, job, state)
  state.key, state.cost = job.key, job.cost
  end_job(meta, state, how, now)
  if has_line(bucket) or bucket.inHanded > 0 then reschedule(bucket, meta) else reschedule_from(bucket, meta, -INF) end
end

-- A job that was started waits again, as kind 'retry' or 'back'; it is never rejected.
local function wait_again(bucket, state, kind, ready_at, worker)
  state.state, state.kind, state.readyAt, state.worker, state.charged = 'retrying', kind, ready_at, worker, false
  bucket.waiting = bucket.waiting + state.cost
  count_returned(bucket, kind, state.cost)
  put_back(bucket, member_of(state), state)
  write_state(state)
  redis.call('ZREM', K.leases, state.id)
  -- A record that cannot be read must not leave this half done.
  local is_readable, job = pcall(read_job, state.id)
  usage.count(bucket, is_readable and job and job.settings or nil, 1)
  if is_readable and job and job.deadline ~= INF then redis.call('ZADD', K.deadlines, job.deadline + bucket.tolerance + 1, state.id) end
end

local MOST_SENT_BACK = 100

-- handed -> waiting | retrying: for the job, and for all that were handed over after it, which keeps their order. A call leaves what
-- it can to the next one when it has sent MOST_SENT_BACK jobs back. `sent`: a list for what it sends back, the last first, each with
-- the epoch that is void now.
local function send_back(bucket, meta, id, now, sent)
  local key = K.handed .. bucket.suffix
  while bucket.inHanded > 0 do
    local member = redis.call('RPOP', key)
    local last, cost = parse_member(member)
    -- Of a state that cannot be read nothing is known, and it stays; the job's turn comes in its line.
    local is_readable, state = pcall(read_state, last)
    if not is_readable then state = { kind = 'line', epoch = -INF } end
    bucket.inHanded, meta.sentBack = bucket.inHanded - 1, meta.sentBack + 1
    if last == bucket.granted then
      bucket.granted, bucket.grantedSlot, bucket.grantedCost = '', 0, 0
    else
      usage.count_handed(bucket, state.epoch, -cost)
    end
    if is_readable and state.state == 'granted' then state.attempt = state.attempt - 1 end
    count_returned(bucket, state.kind, cost)
    if bucket.member then family.hand(bucket, last, cost, -1) end
    state.state = state.kind == 'line' and 'waiting' or 'retrying'
    if state.kind ~= 'back' then bucket.linesTurn = state.kind == 'line' and 1 or 0 end
    put_back(bucket, member, state)
    if is_readable then write_state(state) end
    if sent and is_readable then sent[#sent + 1] = { last, text(state.epoch), bucket.key, text(cost), text(state.attempt) } end
    -- A turn keeps its place as long as its caller's process renews it.
    if is_turn(last) then hold_lease(meta, last, now + TURN_LEASE)
    else redis.call('ZREM', K.leases, last) end
    if last == id then return end
  end
end
