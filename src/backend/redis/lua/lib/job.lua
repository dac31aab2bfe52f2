-- The record of a job: what its producer said, and was told. It never changes.

-- Texts are last; of all texts only the data may hold a zero byte.
local JOB_FORMAT = '<HI4ddI4dss'
local JOB_MAGIC = 0x5602

local function read_job(id)
  local raw = redis.call('HGET', K.jobs, id)
  if not raw then return nil end
  local ok, magic, cost, admitted_at, deadline, position, departs_at, key, settings, rest = pcall(struct.unpack, JOB_FORMAT, raw)
  if not ok or magic ~= JOB_MAGIC then foreign('jobs') end
  return {
    id = id, cost = cost, admittedAt = admitted_at, deadline = deadline, position = position, departsAt = departs_at,
    key = key, settings = settings, data = string.sub(raw, rest),
  }
end

local function write_job(job)
  redis.call('HSET', K.jobs, job.id, struct.pack(JOB_FORMAT, JOB_MAGIC, job.cost, job.admittedAt, job.deadline,
    job.position, job.departsAt, job.key, job.settings) .. job.data)
end

local function member_of(job)
  if job.cost == 1 then return job.id end
  return job.id .. ' ' .. string.format('%d', job.cost)
end

local function parse_member(member)
  local id, cost = string.match(member, '^(%S+) (%d+)$')
  if id then return id, tonumber(cost) end
  return member, 1
end
