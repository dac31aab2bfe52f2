#!lua flags=no-writes
-- Sums over one slice of all live buckets, from their records alone, for each group of keys and the keys below them.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted view filter member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins), how many to look at, then for each group: number of keys (0: every bucket), keys
-- Answers  { now, next cursor ('0': that was all), then for each group: buckets, idle, waiting, full, frozen, paused, cost
--          units in the lines, jobs, jobs that wait for a retry, running handlers }

local SIZE = 10
local PLACES = { idle = 2, waiting = 3, full = 4, frozen = 5, paused = 6 }

expect_arguments(3)
local now = read_now(ARGV[1])
local page = redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', whole(ARGV[3]))
local groups, at = {}, 4
while at <= #ARGV do
  local keys, size = {}, count(at, 1)
  for index = 1, size do
    local key = ARGV[at + index]
    keys[index] = { prefix = key, length = #key, isFamily = true }
  end
  groups[#groups + 1] = { keys = keys, sums = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } }
  at = at + 1 + size
end

local function is_of(keys, key)
  for _, filter in ipairs(keys) do
    if has_name(filter, key) then return true end
  end
  return #keys == 0
end

local function add(sums, bucket)
  local place = PLACES[state_of(bucket, now)]
  sums[1], sums[place] = sums[1] + 1, sums[place] + 1
  sums[7], sums[8] = sums[7] + bucket.waiting, sums[8] + bucket.inLine + bucket.inHanded
  sums[9], sums[10] = sums[9] + retrying(bucket), sums[10] + bucket.running
end

for index = 1, #page[2], 2 do
  local key = page[2][index]
  local is_readable, bucket = pcall(parse_bucket, key, page[2][index + 1])
  for _, group in ipairs(is_readable and groups or {}) do
    if is_of(group.keys, key) then add(group.sums, bucket) end
  end
end
local answer = { text(now), page[1] }
for _, group in ipairs(groups) do
  for place = 1, SIZE do answer[#answer + 1] = text(group.sums[place]) end
end
return answer
