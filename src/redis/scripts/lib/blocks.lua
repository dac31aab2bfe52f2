-- A bucket's line is a list of blocks of 256 jobs, so that a job in the middle is found or removed by reading its block alone. The
-- job's record holds the number of its block. The front is the first block that is not empty; `:blocks:N` holds the numbers of
-- the others. Block numbers grow as long as the bucket lives.

local BLOCK = 256

local function block_key(bucket, block)
  if block == 0 then return K.line .. bucket.suffix end
  return K.line .. bucket.suffix .. ':' .. string.format('%d', block)
end

local function last_block(bucket)
  return math.floor(bucket.joined / BLOCK)
end

-- Checks that the blocks which may be touched are ours, and that the line is not shorter than the bucket's record says.
local function read_blocks(bucket)
  local in_front, last = redis.call('LLEN', block_key(bucket, bucket.front)), last_block(bucket)
  if in_front > bucket.inLine then bucket.inLine = in_front end
  if in_front == bucket.inLine and last == bucket.front then return end
  if in_front == 0 and bucket.inLine > 0 then partial('line') end
  if last ~= bucket.front then redis.call('LLEN', block_key(bucket, last)) end
  if redis.call('ZCARD', K.blocks .. bucket.suffix) == 0 and in_front < bucket.inLine then partial('line') end
end

-- Returns the number of its block.
local function push_last(bucket, member)
  local block = last_block(bucket)
  local length = redis.call('RPUSH', block_key(bucket, block), member)
  if bucket.inLine == 0 then bucket.front = block
  elseif length == 1 and block ~= bucket.front then redis.call('ZADD', K.blocks .. bucket.suffix, block, block) end
  bucket.joined, bucket.inLine = bucket.joined + 1, bucket.inLine + 1
  return block
end

-- A job that comes back is put into the front block, whatever block its record names.
local function push_first(bucket, member)
  redis.call('LPUSH', block_key(bucket, bucket.front), member)
  bucket.inLine = bucket.inLine + 1
end

local function first_member(bucket)
  return bucket.inLine > 0 and redis.call('LINDEX', block_key(bucket, bucket.front), 0)
end

local function last_member(bucket)
  if bucket.inLine == 0 then return false end
  local last = redis.call('ZRANGE', K.blocks .. bucket.suffix, -1, -1)[1]
  return redis.call('LINDEX', block_key(bucket, last and tonumber(last) or bucket.front), -1)
end

local function count_out(bucket, block)
  bucket.inLine = bucket.inLine - 1
  if bucket.inLine == 0 or redis.call('EXISTS', block_key(bucket, block)) == 1 then return end
  if block ~= bucket.front then
    redis.call('ZREM', K.blocks .. bucket.suffix, block)
    return
  end
  local next_ = tonumber(redis.call('ZPOPMIN', K.blocks .. bucket.suffix)[1])
  -- Its jobs are gone: a bucket with a copy of this record, which a foreign value may be, has taken them.
  if next_ then bucket.front = next_ else bucket.inLine = 0 end
end

local function pop_first(bucket)
  redis.call('LPOP', block_key(bucket, bucket.front))
  count_out(bucket, bucket.front)
end

-- Removes a job from anywhere in the line. Returns whether it was there.
local function pull(bucket, block, member)
  if redis.call('LREM', block_key(bucket, block), 1, member) == 0 then
    block = bucket.front
    if redis.call('LREM', block_key(bucket, block), 1, member) == 0 then return false end
  end
  count_out(bucket, block)
  return true
end

-- The bucket's lists besides its line, and how their lengths are read.
local COUNTS = {
  handed = { field = 'inHanded', command = 'LLEN' },
  retry = { field = 'inRetry', command = 'ZCARD' },
  back = { field = 'inBack', command = 'ZCARD' },
}

local function read_count(bucket, name)
  local field = COUNTS[name].field
  local count = redis.call(COUNTS[name].command, K[name] .. bucket.suffix)
  if count < bucket[field] then partial(name) end
  bucket[field] = count
end
