-- A run: jobs of a fast bucket that were granted to one worker together, behind each other. It starts them in order, each after the one
-- before it as the pace wants, and reports the starts. A job of a run gets its slot here, with its start: until then no other job of the
-- bucket gets one, so worker and store count the same slots.
-- of: usage

do
  -- The report of a later one came first, or an earlier one was lost: those before it have started, too.
  local function start_before(bucket, state, at)
    for _, member in ipairs(redis.call('LRANGE', K.handed .. bucket.suffix, 0, -1)) do
      local id = parse_member(member)
      if id == state.id then return end
      local is_readable, before = pcall(read_state, id)
      if is_readable and before.state == 'granted' and before.worker == state.worker then
        start(bucket, before, math.min(at, before.slot))
        write_state(before)
        redis.call('ZREM', K.deadlines, id)
      end
    end
  end

  function usage.take_slot(bucket, state, at)
    local first = redis.call('LINDEX', K.handed .. bucket.suffix, 0)
    if parse_member(first or '') ~= state.id then start_before(bucket, state, at) end
    -- It may be earlier than a limit or freeze allows of which its worker did not know: then the next one counts from there.
    local is_off = at < bucket.next or at - bucket.next > bucket.tolerance
    if is_off then bucket.next, bucket.carry = at, 0 end
    local frozen = bucket.frozen
    bucket.frozen = 0
    state.slot = reserve(bucket, state.cost, bucket.next)
    bucket.frozen, bucket.from = frozen, -INF
    state.onGrid = state.onGrid and not is_off
    bucket.granted, bucket.grantedSlot, bucket.grantedCost = state.id, state.slot, state.cost
    usage.count_handed(bucket, state.epoch, -state.cost)
    -- The bucket has come below totals since, or its limit was changed: the job counts there, too.
    if bucket.member then family.take_slot(bucket, state.id, state.cost) end
    if usage.of(bucket) then usage.charge_slot(bucket, 1, at) end
  end

  -- Whether the worker is to start no further job of the bucket without asking for its slot: it is held, or has another limit. The
  -- bucket remembers that it has a run (`hasRun`), so that each report says so, also the end of an earlier job. Of a bucket that is only
  -- slower, or faster, the worker hears when it asks for more jobs.
  function usage.must_stop(bucket, now)
    return bucket.inHanded > 0 and (bucket.paused == 1 or bucket.frozen > now or bucket.hasRun and not usage.is_fast(bucket))
  end
end
