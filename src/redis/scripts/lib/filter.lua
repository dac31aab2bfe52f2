-- Which buckets a query asks for.

-- Compares byte by byte, as sorted sets do. (`<` follows the locale of the server.)
local function is_before(a, b)
  if a == b then return false end
  local at = 1
  while string.sub(a, at, at + 15) == string.sub(b, at, at + 15) do at = at + 16 end
  for place = at, at + 15 do
    local one, other = string.byte(a, place) or -1, string.byte(b, place) or -1
    if one ~= other then return one < other end
  end
end

-- Seven arguments: prefix, whether it is a key that stands for itself and the keys below it ('1' | '0'), pattern | '', state | '',
-- the shortest wait of the oldest job | '', least fill, most fill
local function read_filter(at)
  local prefix, pattern, state, oldest = ARGV[at], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local filter = {
    prefix = prefix, length = #prefix, isFamily = ARGV[at + 1] == '1', pattern = pattern ~= '' and pattern,
    state = state ~= '' and state, oldest = oldest ~= '' and number(oldest), min = number_or_inf(ARGV[at + 5]),
    max = number_or_inf(ARGV[at + 6]),
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

-- Whether the query asks for the bucket, and how many jobs had to be read to find out: none where the record is enough.
local function is_wanted(filter, bucket, now)
  if filter.pattern and bucket.pattern ~= filter.pattern then return false, 0 end
  if filter.state and state_of(bucket, now) ~= filter.state then return false, 0 end
  if not filter.oldest then return true, 0 end
  if bucket.waiting == 0 then return filter.oldest <= 0, 0 end
  local first, _, reads = admissions(bucket)
  return math.max(0, now - first) >= filter.oldest, reads
end

-- The same for a bucket whose record was not read yet. False for a foreign record; inspecting that key raises the error.
local function is_wanted_key(filter, key, now)
  local is_readable, matches, jobs = pcall(function()
    local bucket = read_bucket(key)
    if not bucket then return false, 0 end
    return is_wanted(filter, bucket, now)
  end)
  return is_readable and matches, is_readable and jobs or 0
end
