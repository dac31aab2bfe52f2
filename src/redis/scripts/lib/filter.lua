-- Which buckets a query asks for, and what it sorts them by.

-- Byte by byte, as sorted sets have their members. (`<` follows the language of the server.)
local function is_before(a, b)
  if a == b then return false end
  local at = 1
  while string.sub(a, at, at + 15) == string.sub(b, at, at + 15) do at = at + 16 end
  for place = at, at + 15 do
    local one, other = string.byte(a, place) or -1, string.byte(b, place) or -1
    if one ~= other then return one < other end
  end
end

-- Seven arguments: prefix, whether it is a key that is meant with those below it ('1' | '0'), pattern | '', state | '', how
-- long somebody waits at least | '', least fill, most fill
local function read_filter(at)
  local prefix, pattern, state, oldest = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local filter = {
    prefix = prefix, length = #prefix, isFamily = ARGV[at + 1] == '1', pattern = pattern ~= '' and pattern,
    state = state ~= '' and state, oldest = oldest ~= '' and number(oldest), min = number(ARGV[at + 5]),
    max = number(ARGV[at + 6]),
  }
  filter.needsRecord = filter.pattern or filter.state or filter.oldest
  return filter
end

local function has_name(filter, key)
  if filter.length == 0 then return true end
  if string.sub(key, 1, filter.length) ~= filter.prefix then return false end
  return not filter.isFamily or #key == filter.length or string.byte(key, filter.length + 1) == 47
end

local function state_of(bucket, now)
  if bucket.paused == 1 then return 'paused' end
  if bucket.frozen > now then return 'frozen' end
  if bucket.waiting == 0 then return 'idle' end
  return bucket.waiting >= bucket.capacity and 'full' or 'waiting'
end

-- By its record, and by jobs only where nothing else tells; and how many jobs were looked at.
local function is_wanted(filter, bucket, now)
  if filter.pattern and bucket.pattern ~= filter.pattern then return false, 0 end
  if filter.state and state_of(bucket, now) ~= filter.state then return false, 0 end
  if not filter.oldest then return true, 0 end
  if bucket.waiting == 0 then return filter.oldest <= 0, 0 end
  local first, _, looks = admissions(bucket)
  return math.max(0, now - first) >= filter.oldest, looks
end

-- The same for one whose record was not read yet. What is not ours is not wanted: whoever asks for it is told.
local function is_wanted_key(filter, key, now)
  local is_readable, is_asked, jobs = pcall(function()
    local bucket = read_bucket(key)
    if not bucket then return false, 0 end
    return is_wanted(filter, bucket, now)
  end)
  return is_readable and is_asked, is_readable and jobs or 0
end
