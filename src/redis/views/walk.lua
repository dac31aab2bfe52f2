#!lua flags=no-writes
-- One slice of all live buckets, in no order, from their records alone: counts the buckets that a query asks for, and answers the
-- places of those that come after one place and before another. Jobs are read only where the query needs their times; where
-- there are many, the answer names the buckets that were not read, for another call.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted view filter columns member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins; '': the keys at the end), how many to read, the filter (see read_filter), column,
--          'down' | 'up', the time as of which the column is read | '', value | '', key after which places are wanted | '',
--          value | '', key before which they are wanted | '', key, ... (0 to 200)
-- Answers  { now, next cursor ('0': that was all), { key of a bucket that was not read, ... }, how many match, value, key, ... }

local KEYS_FROM = 18

expect_arguments(17)
local now = read_now(ARGV[1])

local function records()
  if ARGV[2] ~= '' then return redis.call('HSCAN', K.buckets, ARGV[2], 'COUNT', whole(ARGV[3])) end
  local flat = {}
  for at = KEYS_FROM, #ARGV do
    local raw = redis.call('HGET', K.buckets, ARGV[at])
    if raw then flat[#flat + 1], flat[#flat + 2] = ARGV[at], raw end
  end
  return { '0', flat }
end

local page = records()
local filter = read_filter(4)
local column, is_down, at = ARGV[11], ARGV[12] == 'down', ARGV[13] == '' and now or number(ARGV[13])
local value_of = COLUMNS[column]
local from_key, to_key = ARGV[15], ARGV[17]
local from = from_key ~= '' and read_value(column, ARGV[14])
local to = to_key ~= '' and read_value(column, ARGV[16])

local answer, unread, count, reads = { text(now), page[1], 0, 0 }, {}, 0, 0

local function look(key, raw)
  local bucket = parse_bucket(key, raw)
  if bucket.fill < filter.min or bucket.fill > filter.max then return end
  local matches, jobs = is_wanted(filter, bucket, now)
  reads = reads + jobs
  if not matches then return end
  count = count + 1
  local value, more = value_of(bucket, at)
  reads = reads + more
  if from_key ~= '' and not stands_before(from, from_key, value, key, is_down) then return end
  if to_key ~= '' and not stands_before(value, key, to, to_key, is_down) then return end
  local n = #answer
  answer[n + 1], answer[n + 2] = type(value) == 'number' and string.format('%.17g', value) or value, key
end

for index = 1, #page[2], 2 do
  local key = page[2][index]
  -- A foreign record must not hide the other buckets; inspecting that key raises the error.
  if has_name(filter, key) then
    if reads + usage.work < MOST_READS then pcall(look, key, page[2][index + 1]) else unread[#unread + 1] = key end
  end
end
answer[3], answer[4] = unread, count
return answer
