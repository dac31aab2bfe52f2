-- The record of a job: its request, and the verdict. It never changes.

-- Data of more bytes are kept in a hash of their own, so that a verb which reads a job does not copy them. Such a job has a third
-- magic number, and its trace and the size of its data at the end.
local LARGE = 4096
-- Lua allows a script 200 local variables: what only these functions use is theirs.
local read_job, data_of, read_admission, record_of_job
do
  -- Texts are last; only the data may hold a zero byte. A job with a trace has another magic number, and its trace before the
  -- data; most jobs have none.
  local JOB_FORMAT, JOB_AND_DATA = '<HI4ddI4dI4ss', '<HI4ddI4dI4ssc0'
  local JOB_MAGIC = 0x5622
  local TRACED_MAGIC = 0x5624

  local LARGE_MAGIC, LARGE_FORMAT = 0x5626, '<sI4'

  function read_job(id)
    local raw = redis.call('HGET', K.jobs, id)
    if not raw then return nil end
    local ok, magic, cost, admitted_at, deadline, position, departs_at, block, key, settings, rest = pcall(struct.unpack, JOB_FORMAT, raw)
    local traceparent, size, data = '', nil, nil
    if ok and magic == TRACED_MAGIC then
      ok, traceparent, rest = pcall(struct.unpack, 's', raw, rest)
    elseif ok and magic == LARGE_MAGIC then
      ok, traceparent, size, rest = pcall(struct.unpack, LARGE_FORMAT, raw, rest)
    elseif magic ~= JOB_MAGIC then
      ok = false
    end
    if not ok then foreign('jobs') end
    if not size then data, size = string.sub(raw, rest), #raw - rest + 1 end
    return {
      id = id, cost = cost, admittedAt = admitted_at, deadline = deadline, position = position, departsAt = departs_at,
      block = block, key = key, settings = settings, traceparent = traceparent, data = data, size = size,
    }
  end

  function data_of(job)
    return job.data or redis.call('HGET', K.data, job.id) or foreign('data')
  end

  -- Only the time at which the job was admitted: the data are not read for it.
  function read_admission(id)
    local raw = redis.call('HGET', K.jobs, id)
    if not raw then return nil end
    local ok, magic, _, admitted_at = pcall(struct.unpack, '<HI4d', raw)
    if not ok or magic ~= JOB_MAGIC and magic ~= TRACED_MAGIC and magic ~= LARGE_MAGIC then foreign('jobs') end
    return admitted_at
  end

  function record_of_job(job)
    local trace, is_large = job.traceparent, job.size > LARGE
    local magic = is_large and LARGE_MAGIC or trace == '' and JOB_MAGIC or TRACED_MAGIC
    local data = not is_large and trace == '' and job.data or ''
    local record = struct.pack(JOB_AND_DATA, magic, job.cost, job.admittedAt, job.deadline, job.position, job.departsAt, job.block,
      job.key, job.settings, data)
    if is_large then return record .. struct.pack(LARGE_FORMAT, trace, job.size) end
    if trace ~= '' then return record .. struct.pack('s', trace) .. job.data end
    return record
  end
end

local function member_of(job)
  if job.cost == 1 then return job.id end
  return job.id .. ' ' .. string.format('%d', job.cost)
end

local function parse_member(member)
  -- Most jobs cost 1: to match the pattern takes several times as long.
  if not string.find(member, ' ', 1, true) then return member, 1 end
  local id, cost = string.match(member, '^(%S+) (%d+)$')
  if id then return id, tonumber(cost) end
  return member, 1
end
