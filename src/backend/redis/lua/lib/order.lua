-- Everyone in a bucket's line, one after the other.

-- How far a verdict looks into a line; beyond, a cost unit counts as one interval, which is never too early.
local FARTHEST_LOOK = 1000

local function zset_of(key)
  local flat = redis.call('ZRANGE', key, 0, FARTHEST_LOOK - 1, 'WITHSCORES')
  local guests = {}
  for index = 1, #flat, 2 do
    local id, cost = parse_member(flat[index])
    guests[#guests + 1] = { id = id, cost = cost, readyAt = tonumber(flat[index + 1]) }
  end
  return guests
end

local function handed_of(bucket)
  local guests = {}
  for _, member in ipairs(redis.call('LRANGE', K.handed .. bucket.n, 0, -1)) do
    local id, cost = parse_member(member)
    if id ~= bucket.granted then guests[#guests + 1] = { id = id, cost = cost } end
  end
  return guests
end

local function line_of(bucket, most)
  local guests = {}
  for _, member in ipairs(redis.call('LRANGE', K.line .. bucket.n, 0, most - 1)) do
    local id, cost = parse_member(member)
    guests[#guests + 1] = { id = id, cost = cost }
  end
  return guests
end

-- Everyone without a slot, in the order of departure as far as is known; with `newcomer`, those before one who comes now.
-- `most`: so many of the first are wanted, no more.
local function in_order(bucket, now, newcomer, most)
  local order = handed_of(bucket)
  local course = course_of(bucket, now)
  follow(course, bucket, bucket.handed)
  for _, given in ipairs(zset_of(K.back .. bucket.n)) do
    order[#order + 1] = { id = given.id, cost = given.cost }
    follow(course, bucket, given.cost)
  end
  local retries = zset_of(K.retry .. bucket.n)
  local line, next_retry, lines_turn = line_of(bucket, most or FARTHEST_LOOK), 1, bucket.linesTurn == 1
  if newcomer then line[#line + 1] = false end
  for _, guest in ipairs(line) do
    local retry = retries[next_retry]
    if not lines_turn and retry and retry.readyAt <= course.slot then
      order[#order + 1] = retry
      follow(course, bucket, retry.cost)
      next_retry = next_retry + 1
    end
    lines_turn = false
    if guest then
      order[#order + 1] = guest
      follow(course, bucket, guest.cost)
    end
  end
  if not newcomer then
    for index = next_retry, #retries do order[#order + 1] = retries[index] end
  end
  return order
end
