-- Granting slots to jobs that were handed over.

local function postpone_after(bucket, since, gap, now)
  local until_ = since + gap
  -- A step back that is shorter than calls are noted apart goes unnoticed.
  if since <= now + HEARD_EACH and until_ > now and until_ > bucket.next then postpone(bucket, until_) end
end

local function allow_for_steps(bucket, steps, now)
  local last = steps[#steps]
  if not last or bucket.lastStart >= last.at then return end
  -- The last start may have been forgotten before the step was known.
  if bucket.lastStart == -INF then postpone_after(bucket, last.at, last.by, now)
  else postpone_after(bucket, bucket.lastStart, spacing_after_start(bucket) + loss.stepped_since(steps, bucket.lastStart), now) end
end

-- When the clock was moved last; 0: never, as far as is known.
local function moved_at(meta)
  return math.max(meta.quarantine, #meta.steps > 0 and loss.last_step_at(meta) or 0)
end

-- The wait after a job of this cost, or after the last one if that is longer.
local function gap_after(bucket, cost)
  local known = math.max(spacing(bucket, bucket.lastWarmth, bucket.lastCost), spacing_after_start(bucket))
  return math.max(known, spacing(bucket, 0, math.min(bucket.capacity, math.max(1, cost))))
end

-- Corrects the bucket after its clock was set back. After a jump of the clock, it waits the whole interval of its last start, counted
-- from the jump; after a loss, that of the costliest job that may have been lost. `used`: of a total, the units of slots that others have
-- and have not used. After a move of the clock it waits once, until a worker that does not know of that can use none of them any more.
local function allow_for_clock(bucket, meta, now, used)
  local farthest = farthest_next(bucket, now)
  if bucket.next > farthest then bucket.next, bucket.carry = farthest, 0 end
  -- A bucket without a last start may have been forgotten before the clock jumped.
  if meta.quarantine ~= 0 then postpone_after(bucket, meta.quarantine, gap_after(bucket, bucket.lastStart == -INF and meta.costliest or 1), now) end
  if #meta.steps > 0 then allow_for_steps(bucket, loss.steps(meta, now), now) end
  if used and bucket.movedAt ~= moved_at(meta) then
    bucket.movedAt = moved_at(meta)
    if used > 0 then postpone_after(bucket, bucket.movedAt, 2 * FARTHEST_SLOT + gap_after(bucket, used), now) end
  end
  -- A slot may be lost, too, that was granted just before: its worker may use it until then.
  if meta.lostAt ~= 0 then postpone_after(bucket, meta.lostAt, 2 * FARTHEST_SLOT + gap_after(bucket, meta.lostCost), now) end
end

-- Reserves a slot. Returns it, the time from which the handler may start, the slot that the job may have missed, with its totals, and
-- until when these let it start; nil where the slot is too far away. `off`: how far the clock of the worker may be ahead, and behind.
local function grant(bucket, meta, job, state, worker, now, lead, off)
  local parts = usage.of(bucket)
  allow_for_clock(bucket, meta, now)
  if parts then usage.clamp(bucket, now) end
  local due = math.max(bucket.from, bucket.next, bucket.frozen, state.floor)
  local earliest = math.max(now + lead, state.readyAt)
  if parts then
    if usage.is_full(bucket, bucket.running) then return nil end
    earliest, due = usage.due_at(bucket, usage.charges(parts, job.cost, job.settings), due, earliest)
  end
  local since = due
  if bucket.member then earliest, since = family.earliest(bucket, meta, job, due, earliest, now) end
  if not earliest then return nil end
  local had_slot = since > due or due <= math.max(bucket.next, bucket.frozen)
  local before = { bucket.next, bucket.carry, bucket.lastCost, bucket.warmth, bucket.lastWarmth }
  local slot, on_grid = reserve_due(bucket, job.cost, due, earliest)
  local start_at = math.max(slot, earliest, bucket.lastStart + usage.EVEN * spacing_after_start(bucket))
  if start_at - now > FARTHEST_SLOT then
    bucket.next, bucket.carry, bucket.lastCost, bucket.warmth, bucket.lastWarmth = unpack(before)
    return nil
  end
  bucket.from = -INF
  bucket.granted, bucket.grantedSlot, bucket.grantedCost = job.id, slot, job.cost
  usage.count_handed(bucket, state.epoch, -job.cost)
  if parts then usage.charge_slot(bucket, 1, now, job.settings) end
  local latest = bucket.member and family.reserve(bucket, meta, job, start_at, now, off) or INF
  state.state, state.slot, state.onGrid, state.isSettled, state.worker = 'granted', slot, on_grid, false, worker
  return slot, start_at, had_slot and since or slot, latest
end

-- Takes the slot away from a job that was granted it and has not started; one of a run has none.
local function ungrant(bucket, job, state)
  state.state = 'handed'
  if bucket.granted ~= state.id then return end
  unreserve(bucket)
  bucket.granted, bucket.grantedSlot, bucket.grantedCost = '', 0, 0
  usage.count_handed(bucket, state.epoch, job.cost)
end

-- When to ask again: after the job before it has started, as far as that is known. The worker of that job may be dead, so the longer
-- it could have started, the less often this one asks: for a late start it comes later by a quarter of the delay at most.
local function ask_again(bucket, state, now)
  -- Not later: the freeze may be lifted or the limit raised, and then jobs would wait for this one.
  local slot, far = bucket.grantedSlot, now + FARTHEST_SLOT
  -- A slot further ahead was granted before the clock was set back.
  local is_granted = bucket.granted ~= '' and slot <= far
  if is_granted and slot > now then return slot + 500 end
  local turn = is_granted and slot or math.max(bucket.from, bucket.next, bucket.frozen)
  -- An epoch is the time of the claim, but for an hour after a loss it is ahead of that. The claim may be of just now then: this one
  -- asks again within 20 ms, though not every millisecond for as long as the lease of a dead worker lasts.
  local waited = now - math.max(turn, bucket.lastStart, state.epoch > now and now - 80000 or state.epoch)
  local soon = now + math.max(1000, math.min(50000, bucket.interval / 4), waited / 4)
  return math.min(far, math.max(soon, turn + 500))
end
