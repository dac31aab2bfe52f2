-- After the clock was set back: what lies further ahead than it can is brought back, one page of buckets at each claim.

local PAGE = 100

local function bring_back(bucket, meta, now)
  bucket.from, bucket.lastStart = math.min(bucket.from, now), math.min(bucket.lastStart, now)
  bucket.grantedSlot = math.min(bucket.grantedSlot, now + FARTHEST_SLOT)
  local farthest = farthest_next(bucket, now)
  if bucket.next > farthest then bucket.next, bucket.carry = farthest, 0 end
  place(bucket, meta)
end

-- Whether there is more to do.
local function rewind(meta, now)
  if meta.rewind == '' then return false end
  local page = redis.call('HSCAN', K.buckets, meta.rewind, 'COUNT', PAGE)
  for index = 1, #page[2], 2 do
    -- One that cannot be read must not hold up the others; whoever asks for it is told.
    local is_readable, bucket = pcall(read_bucket_and_line, page[2][index])
    if is_readable and bucket then bring_back(bucket, meta, now) end
  end
  local is_over = page[1] == '0'
  redis.call('HSET', K.meta, 'rewind', is_over and '' or page[1])
  return not is_over
end
