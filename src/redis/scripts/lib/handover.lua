-- Handing a job over to workers, and a turn to the process of its caller.

local INBOX_MS = 60000

-- waiting | retrying -> handed, for the job that `peek_head` returned. The caller writes bucket and state, and the lease.
local function mark_handed(bucket, member, kind, ready_at, state, epoch)
  local id, cost = parse_member(member)
  state.floor = has_line(bucket) and -INF or ready_at
  take_head(bucket, member, kind)
  state.state, state.kind, state.readyAt, state.key, state.cost = 'handed', kind, ready_at, bucket.key, cost
  state.epoch = epoch
  state.worker, state.slot = '', 0
  redis.call('RPUSH', K.handed .. bucket.suffix, member)
  -- All of a run have started.
  if bucket.inHanded == 0 then bucket.hasRun = false end
  bucket.inHanded = bucket.inHanded + 1
  bucket.handed = bucket.handed + cost
  bucket.isHandedOn = true
  if bucket.member then family.hand(bucket, id, cost, 1) end
  if bucket.handedCharges then usage.hand_on(bucket, member) end
  count_returned(bucket, kind, -cost)
end

-- When the lease of a turn that was handed over ends, if its caller's process does not renew it. A process renews a place every
-- third of its lease; where the last renewal is longer ago than half of it, the process may be gone, and the turn gets no
-- second chance.
local function news_lease(state, meta, now, lease)
  local place_until = lease_end(meta, state.id) or 0
  if place_until < now + TURN_LEASE / 2 then state.crashes = math.max(1, state.crashes) end
  return now + math.min(lease, NEWS)
end

-- Puts the turn into the inbox of the caller's process. A foreign value under the name of the inbox stays as it is, and the
-- message is lost: the lease brings the turn back.
local function deliver(caller, id, epoch, key)
  local inbox = K.inbox .. caller
  local left = redis.pcall('RPUSH', inbox, id .. ' ' .. string.format('%d', epoch) .. ' ' .. key)
  if type(left) == 'number' then redis.call('PEXPIRE', inbox, INBOX_MS) end
end
