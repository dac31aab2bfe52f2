-- How one is handed over, and how a turn finds its caller.

local INBOX_MS = 60000

-- waiting | retrying -> handed, for the one who was peeked at.
local function mark_handed(bucket, meta, member, kind, ready_at, state, epoch, lease_until)
  local id, cost = parse_member(member)
  state.floor = has_line(bucket) and -INF or ready_at
  take_head(bucket, member, kind)
  state.state, state.kind, state.readyAt, state.key, state.cost = 'handed', kind, ready_at, bucket.key, cost
  state.epoch = epoch
  state.worker, state.slot = '', 0
  write_state(state)
  redis.call('RPUSH', K.handed .. bucket.n, member)
  hold_lease(meta, id, lease_until)
  bucket.inHanded = bucket.inHanded + 1
  bucket.handed = bucket.handed + cost
  count_returned(bucket, kind, -cost)
end

-- Until when a turn belongs to the process of its caller if that says nothing. One that has not renewed the place for
-- half its lease, though it does so each third, may be gone: then there is no second time.
local function news_lease(state, meta, now, lease)
  local place_until = lease_end(meta, state.id) or 0
  if place_until < now + TURN_LEASE / 2 then state.crashes = math.max(1, state.crashes) end
  return now + math.min(lease, NEWS)
end

-- Puts the news where the process of the caller looks for it. An inbox that is not ours stays as it is: then it is as if
-- the news was lost on the way.
local function deliver(caller, id, epoch, key)
  local inbox = K.inbox .. caller
  local left = redis.pcall('RPUSH', inbox, id .. ' ' .. string.format('%d', epoch) .. ' ' .. key)
  if type(left) == 'number' then redis.call('PEXPIRE', inbox, INBOX_MS) end
end
