-- Everyone in a bucket's line, one after the other. Only as many are read as are asked for.

-- Most verdicts ask for no more.
local FEW, MANY = 8, 100

-- Answers the entries of a list one by one, of which `read(from, to)` answers some.
local function one_by_one(read)
  local entries, at, from, size = {}, 0, 0, 0
  return function()
    if at == #entries and at == size then
      from, size, at = from + size, size == 0 and FEW or MANY, 0
      entries = read(from, from + size - 1)
    end
    at = at + 1
    return entries[at]
  end
end

local function none() end

local function guest_of(member, kind)
  local id, cost = parse_member(member)
  return { id = id, cost = cost, kind = kind }
end

local function guests_of(key, kind)
  return one_by_one(function(from, to)
    local guests = {}
    for index, member in ipairs(redis.call('LRANGE', key, from, to)) do guests[index] = guest_of(member, kind) end
    return guests
  end)
end

local function line_of(bucket)
  local next_one, seen = guests_of(block_key(bucket, bucket.front), 'line'), 0
  return function()
    while next_one do
      local guest = next_one()
      if guest then return guest end
      local block = redis.call('ZRANGE', K.blocks .. bucket.n, seen, seen)[1]
      next_one, seen = block and guests_of(block_key(bucket, tonumber(block)), 'line'), seen + 1
    end
  end
end

local function returned_of(bucket, kind)
  local key = K[kind] .. bucket.n
  return one_by_one(function(from, to)
    local flat, guests = redis.call('ZRANGE', key, from, to, 'WITHSCORES'), {}
    for index = 1, #flat, 2 do
      local guest = guest_of(flat[index], kind)
      if kind == 'retry' then guest.readyAt = tonumber(flat[index + 1]) end
      guests[#guests + 1] = guest
    end
    return guests
  end)
end

-- Everyone without a slot, in the order of departure as far as is known, one at each call.
local function departures(bucket, now)
  local course, is_lines_turn = course_of(bucket, now), bucket.linesTurn == 1
  local handed = bucket.inHanded > 0 and guests_of(K.handed .. bucket.n, 'handed') or none
  local back = bucket.inBack > 0 and returned_of(bucket, 'back') or none
  local line = bucket.inLine > 0 and line_of(bucket) or none
  local retries = bucket.inRetry > 0 and returned_of(bucket, 'retry') or none
  local retry, passed_by = nil, nil
  return function()
    if handed then
      local guest = handed()
      if guest and guest.id == bucket.granted then guest = handed() end
      if guest then return guest end
      handed, retry = nil, retries()
      follow(course, bucket, bucket.handed)
    end
    local guest = back()
    if guest then
      follow(course, bucket, guest.cost)
      return guest
    end
    guest, passed_by = passed_by or line(), nil
    if guest and retry and not is_lines_turn and retry.readyAt <= course.slot then
      passed_by, guest, retry, is_lines_turn = guest, retry, retries(), true
    elseif guest then
      is_lines_turn = false
    else
      guest, retry = retry, retry and retries()
      return guest
    end
    follow(course, bucket, guest.cost)
    return guest
  end
end

-- The first of them, `most` at most.
local function in_order(bucket, now, most)
  local order, next_one = {}, departures(bucket, now)
  while #order < most do
    local guest = next_one()
    if not guest then break end
    order[#order + 1] = guest
  end
  return order
end
