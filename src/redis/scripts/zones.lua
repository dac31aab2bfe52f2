#!lua flags=allow-oom
-- Writes when the clocks of time zones are set. What a process with newer rules of time zones has written stays, and what is of
-- today. By the way, some zones go that no process has written for long.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', whether a script found what is there to be of no use ('1' | '0'), then for each zone: its name, and a text: version of the rules, from, until, what the clock is ahead of UTC, then for
--          each time that it is set: when, and what it is ahead from then on; all in seconds
-- Answers  'ok'

-- A text of the same day is the same.
local A_DAY = 86400
-- A text goes so long after it was written last.
local KEPT = 40 * A_DAY
local SWEPT = 10

expect_arguments(4)
local now = read_now(ARGV[1]) / 1000000
local function head_of(text)
  local version, from, until_ = string.match(text, '^(%w+) (%-?%d+) (%-?%d+) ')
  return version, tonumber(from), tonumber(until_)
end

if #ARGV % 2 ~= 0 then refuse_arguments() end
for index = 4, #ARGV, 2 do
  if not head_of(ARGV[index]) then refuse_arguments() end
end
expect('meta', 'zones')
local wanted = redis.call('HGET', K.meta, 'zone')
for index = 3, #ARGV, 2 do
  local name, text = ARGV[index], ARGV[index + 1]
  local version, from = head_of(text)
  local known = redis.call('HGET', K.zones, name)
  local known_version, known_from, known_until
  if known and name ~= wanted and ARGV[2] ~= '1' then known_version, known_from, known_until = head_of(known) end
  local covers = known_from and known_from <= now and now < known_until
  local is_newer = covers and known_version > version
  local is_of_today = covers and known_version == version and math.abs(from - known_from) < A_DAY
  if not is_newer and not is_of_today then redis.call('HSET', K.zones, name, text) end
  if name == wanted then redis.call('HDEL', K.meta, 'zone') end
end
local others = redis.call('HRANDFIELD', K.zones, SWEPT, 'WITHVALUES')
for index = 1, #others, 2 do
  local _, from = head_of(others[index + 1])
  if not from or from + ZONE_BEFORE + KEPT < now then redis.call('HDEL', K.zones, others[index]) end
end
return 'ok'
